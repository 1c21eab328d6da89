import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Risk, Verdict } from "../calls/call.ts";
import { autonomies, isStricter, rankOf, risks, verdicts } from "../calls/risk.ts";
import { createPolicy, type PolicyOptions } from "./decide.ts";
import { defaultMatrix } from "./matrix.ts";
import type { Facts, ToolFacts } from "./policy.ts";
import type { Rule } from "./rules.ts";

const names = ["mail", "mail__send", "files__delete", "constructor"];
const patterns = [...names, "*", "mail*", "*__*", "files__d*e"];
const scopeNames = ["mail:write", "secrets:read", "files"];

const anyTool: fc.Arbitrary<ToolFacts> = fc.record(
  {
    tool: fc.constantFrom(...names),
    action: fc.constantFrom("default", "purge"),
    server: fc.constantFrom("mail", "files"),
    risk: fc.constantFrom(...risks),
    riskSource: fc.constantFrom("declared", "operator", "default"),
    effects: fc.constantFrom("read", "write", "destructive"),
    scopes: fc.subarray(scopeNames),
    permissions: fc.constant([]),
  },
  { requiredKeys: ["tool", "action", "risk", "riskSource", "effects", "scopes", "permissions"] },
);

const anyFacts: fc.Arbitrary<Facts> = fc.record({
  tool: anyTool,
  principal: fc.record(
    {
      tenant: fc.constantFrom("a", "b"),
      agent: fc.constantFrom("x", "y"),
      user: fc.constantFrom("ada", "bob"),
    },
    { requiredKeys: ["tenant", "agent"] },
  ),
  scopes: fc.oneof(fc.constant(scopeNames), fc.subarray(scopeNames)),
  autonomy: fc.option(fc.constantFrom(...autonomies), { nil: undefined }),
  maxRiskUnapproved: fc.option(fc.constantFrom(...risks), { nil: undefined }),
  suggestion: fc.option(fc.record({ risk: fc.constantFrom(...risks) }, { requiredKeys: [] }), {
    nil: undefined,
  }),
  arguments: fc.constant({}),
  history: fc.constant({}),
  now: fc.constant(0),
});

const pattern = fc.constantFrom(...patterns);
const anyRule: fc.Arbitrary<Rule> = fc.record(
  {
    effect: fc.constantFrom("allow", "allow", "confirm", "deny"),
    tool: pattern,
    action: fc.constantFrom("*", "purge"),
    server: fc.constantFrom("*", "mail"),
    principal: fc.record(
      {
        tenant: fc.constantFrom("a", "*"),
        agent: fc.constantFrom("x"),
        user: fc.constantFrom("ada", "*"),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["effect"] },
);

const anyOptions: fc.Arbitrary<PolicyOptions> = fc.record(
  {
    rules: fc.array(anyRule, { maxLength: 6 }),
    default: fc.constantFrom("allow", "deny"),
    maxRiskUnapproved: fc.constantFrom("safe", "medium", "high"),
    matrix: fc.constantFrom({}, { A3: { high: "ALLOW" }, A0: { safe: "BLOCK" } }, { A4: { safe: "PREVIEW" } }),
  },
  { requiredKeys: [] },
);

const runs = { numRuns: 3_000 };
const strictness: readonly (Verdict | "DENY")[] = [...verdicts, "DENY"];

/** The specification, read slowly and kept as far from the real thing as it can be: no caches, no index, regular expressions. */
function reference(options: PolicyOptions, facts: Facts): { verdict: string; risk: Risk } {
  const { tool, principal, autonomy, suggestion } = facts;
  const fits = (wanted: string | undefined, name: string | undefined): boolean =>
    wanted === undefined || (name !== undefined && new RegExp(`^${wanted.replaceAll("*", ".*")}$`).test(name));
  const matching = (options.rules ?? []).filter(
    (rule) =>
      fits(rule.tool, tool.tool) &&
      fits(rule.action, tool.action) &&
      fits(rule.server, tool.server) &&
      fits(rule.principal?.tenant, principal.tenant) &&
      fits(rule.principal?.agent, principal.agent) &&
      fits(rule.principal?.user, principal.user),
  );
  const suggested = suggestion?.risk ?? tool.risk;
  const risk =
    tool.riskSource === "declared" || risks.indexOf(suggested) > risks.indexOf(tool.risk) ? suggested : tool.risk;
  const permits = matching.filter(({ effect }) => effect !== "deny");
  if (permits.length < matching.length) return { verdict: "DENY", risk };
  if (tool.effects === "destructive" && !permits.some((rule) => rule.tool === tool.tool))
    return { verdict: "DENY", risk };
  if (options.default === "deny" && permits.length === 0) return { verdict: "DENY", risk };
  if (!tool.scopes.every((scope) => facts.scopes.includes(scope))) return { verdict: "DENY", risk };
  const demands: Verdict[] = [];
  if (autonomy !== undefined) demands.push(options.matrix?.[autonomy]?.[risk] ?? defaultMatrix[autonomy][risk]);
  const operators = options.maxRiskUnapproved ?? (autonomy === undefined ? "safe" : undefined);
  const set = [operators, facts.maxRiskUnapproved]
    .filter((one) => one !== undefined)
    .map((one) => Math.min(2, risks.indexOf(one)));
  if (set.length > 0) demands.push(risks.indexOf(risk) > Math.min(...set) ? "CONFIRM" : "ALLOW");
  if (tool.scopes.includes("secrets:read")) demands.push(autonomy === "A0" ? "PREVIEW" : "CONFIRM");
  if (permits.some(({ effect }) => effect === "confirm")) demands.push("CONFIRM");
  return {
    verdict: verdicts[Math.max(...demands.map((one) => verdicts.indexOf(one)))] ?? "BLOCK",
    risk,
  };
}

describe("a decision", () => {
  it("is what the slow reading of the specification says, also when asked again", async () => {
    await fc.assert(
      fc.property(anyOptions, fc.array(anyFacts, { minLength: 1, maxLength: 4 }), (options, asked) => {
        const policy = createPolicy(options);
        for (const facts of [...asked, ...asked]) expect(policy.decide(facts)).toMatchObject(reference(options, facts));
      }),
      { numRuns: 4_000 },
    );
  });

  it("is not mixed up with that of another question about the same tool", async () => {
    const question = fc.record({
      autonomy: fc.option(fc.constantFrom(...autonomies), { nil: undefined }),
      maxRiskUnapproved: fc.option(fc.constantFrom(...risks), { nil: undefined }),
      suggestion: fc.option(fc.record({ risk: fc.constantFrom(...risks) }), { nil: undefined }),
    });
    await fc.assert(
      fc.property(anyOptions, anyFacts, fc.array(question, { maxLength: 60 }), (options, facts, questions) => {
        const policy = createPolicy(options);
        for (const asked of questions) {
          const changed = { ...facts, ...asked };
          expect(policy.decide(changed)).toMatchObject(reference(options, changed));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("does not hang on the order of the rules", async () => {
    await fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 6 }), anyFacts, (rules, facts) => {
        const [one, other] = [rules, rules.toReversed()].map((list) => createPolicy({ rules: list }).decide(facts));
        expect(one?.verdict).toBe(other?.verdict);
      }),
      runs,
    );
  });

  it("is never milder for one more deny or confirm, nor permitted by leaving an allow out", async () => {
    await fc.assert(
      fc.property(anyOptions, anyFacts, anyRule, (options, facts, rule) => {
        const rules = options.rules ?? [];
        const verdict = (list: readonly Rule[]): number =>
          strictness.indexOf(createPolicy({ ...options, rules: list }).decide(facts).verdict);
        const before = verdict(rules);
        expect(verdict([...rules, { ...rule, effect: "deny" }])).toBeGreaterThanOrEqual(before);
        const allowed = verdict([...rules, { ...rule, effect: "allow" }]);
        expect(allowed).toBeLessThanOrEqual(before);
        if (before < strictness.indexOf("DENY")) {
          expect(allowed).toBe(before);
          expect(verdict([...rules, { ...rule, effect: "confirm" }])).toBeGreaterThanOrEqual(before);
        }
      }),
      runs,
    );
  });

  it("always names a reason, and none that is milder than the answer decides", async () => {
    await fc.assert(
      fc.property(anyOptions, anyFacts, (options, facts) => {
        const { verdict, reasons } = createPolicy(options).decide(facts);
        expect(reasons.length).toBeGreaterThan(0);
        expect(reasons.some(({ says }) => says === verdict)).toBe(true);
      }),
      runs,
    );
  });

  it("never lowers a risk that an operator or the default gave, whatever the tool suggests (case 129)", async () => {
    await fc.assert(
      fc.property(anyFacts, (facts) => {
        const { risk } = createPolicy().decide(facts);
        if (facts.tool.riskSource !== "declared") expect(rankOf(risk)).toBeGreaterThanOrEqual(rankOf(facts.tool.risk));
        if (facts.suggestion?.risk !== undefined)
          expect(rankOf(risk)).toBeGreaterThanOrEqual(rankOf(facts.suggestion.risk));
      }),
      runs,
    );
  });

  it("is never weaker than the matrix for an override (case 135)", async () => {
    await fc.assert(
      fc.property(anyFacts, fc.constantFrom(...autonomies), (facts, autonomy) => {
        const { verdict, risk } = createPolicy().decide({ ...facts, autonomy });
        if (verdict !== "DENY") expect(isStricter(defaultMatrix[autonomy][risk], verdict)).toBe(false);
        if (autonomy === "A0") expect(["PREVIEW", "BLOCK", "DENY"]).toContain(verdict);
      }),
      runs,
    );
  });
});
