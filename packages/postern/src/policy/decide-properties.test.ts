import { autonomies, rankOf, risks, stricter, verdicts } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  anyFacts,
  anyOptions,
  anyTool,
  runs,
  scopeNames,
  someRule,
} from "../../../../test/fakes/policy-arbitraries.ts";
import { reference } from "../../../../test/fakes/reference-policy.ts";
import { createPolicy, type PolicyOptions } from "./decide.ts";
import type { ActiveSkills, Decision, Facts } from "./policy.ts";
import { defaultMatrix } from "./risk/matrix.ts";
import type { Rule } from "./rules/rule-schema.ts";

const strictness: readonly Decision["verdict"][] = [...verdicts, "DENY"];

function strictnessOf(options: PolicyOptions, facts: Facts): number {
  return strictness.indexOf(createPolicy(options).decide(facts).verdict);
}

describe("a decision", () => {
  it("is what the slow reading of the specification says, also when asked again", async () => {
    await fc.assert(
      fc.property(anyOptions, fc.array(anyFacts, { minLength: 1, maxLength: 4 }), (options, asked) => {
        const policy = createPolicy(options);
        for (const facts of [...asked, ...asked]) expect(policy.decide(facts)).toMatchObject(reference(options, facts));
      }),
      runs(0.4),
    );
  });

  it("is not mixed up with that of another question about the same tool", async () => {
    const question = fc.record(
      {
        autonomy: fc.option(fc.constantFrom(...autonomies), { nil: undefined }),
        maxRiskUnapproved: fc.option(fc.constantFrom(...risks), { nil: undefined }),
        suggestion: fc.option(fc.record({ risk: fc.constantFrom(...risks) }), { nil: undefined }),
        arguments: anyFacts.map((facts) => facts.arguments),
        history: anyFacts.map(({ history }) => history),
        skills: anyFacts.map(({ skills }) => skills),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.property(anyOptions, anyFacts, fc.array(question, { maxLength: 30 }), (options, facts, questions) => {
        const policy = createPolicy(options);
        for (const asked of questions) {
          const changed = { ...facts, ...asked };
          const bare = { ...changed, skills: undefined }; // the same question but for the skills
          for (const one of [bare, changed, bare]) expect(policy.decide(one)).toMatchObject(reference(options, one));
        }
      }),
      runs(0.05),
    );
  });

  it("is the same whether it was kept or is made now, whatever changed between calls", async () => {
    const rules: readonly Rule[] = [
      { effect: "allow", tool: "mail", principal: { agent: "x" } },
      { effect: "confirm", principal: { user: "ada" } },
      { effect: "deny", principal: { tenant: "b" }, risk: "high" },
      { effect: "confirm", tool: "mail", arguments: { "$.to": { like: "*@acme.com" } } },
    ];
    const asked = fc.record({
      rules: fc.subarray([...rules]),
      default: fc.constantFrom("allow" as const, "deny" as const),
      mode: fc.constantFrom("enforce" as const, "observe" as const),
    });
    const many = Array.from({ length: 20 }, (_, i) => `person${i}@example.com`);
    const change: fc.Arbitrary<Partial<Facts>> = fc.oneof(
      fc.record({ autonomy: fc.constantFrom(undefined, ...autonomies) }),
      fc.record({ maxRiskUnapproved: fc.constantFrom(undefined, ...risks) }),
      fc.record({ scopes: fc.subarray([...scopeNames]) }),
      fc.record({ arguments: fc.constantFrom({ to: "ada" }, { to: "ada@acme.com" }, { to: many }) }),
      anyFacts.map(({ principal }) => ({ principal })),
      fc.constantFrom(undefined, { names: ["writer"], allowedTools: [] }).map((skills) => ({ skills })),
      fc.constantFrom(undefined, { risk: "critical" as const }).map((suggestion) => ({ suggestion })),
      fc.constantFrom([], [{ guardrail: "g", effect: "CONFIRM" as const, why: "w" }]).map((findings) => ({ findings })),
      fc.constantFrom(undefined, { what: ["`$.to`"], wouldBeRead: true }).map((unread) => ({ unread })),
      fc.constant({ suggestion: undefined, findings: [], unread: undefined, skills: undefined }),
    );
    const changes = fc.array(change, { minLength: 20, maxLength: 40 });
    const someTools = fc.array(anyTool, { minLength: 2, maxLength: 2 });
    let kept = 0;
    await fc.assert(
      fc.property(asked, anyFacts, someTools, changes, (options, first, tools, made) => {
        const policy = createPolicy(options);
        const fresh = createPolicy(options); // it never sees the same tool again, so it keeps nothing
        const decisions = new Set<Decision>();
        let facts: Facts = { ...first, suggestion: undefined, skills: undefined };
        for (const one of made) {
          facts = { ...facts, ...one };
          for (const tool of tools) {
            const decision = policy.decide({ ...facts, tool });
            expect(decision).toEqual(fresh.decide({ ...facts, tool: { ...tool } }));
            if (decisions.has(decision)) kept += 1;
            decisions.add(decision);
          }
        }
      }),
      runs(0.1),
    );
    expect(kept).toBeGreaterThan(100); // else nothing was kept, and nothing compared
  });

  it("does not hang on the order of the rules", async () => {
    await fc.assert(
      fc.property(anyOptions, anyFacts, (options, facts) => {
        const turned = { ...options, rules: options.rules?.toReversed() ?? [] };
        expect(strictnessOf(turned, facts)).toBe(strictnessOf(options, facts));
      }),
      runs(0.1),
    );
  });

  it("is never milder for one more deny, in the configuration or the runtime", async () => {
    await fc.assert(
      fc.property(anyOptions, anyFacts, someRule, (options, facts, rule) => {
        const deny = { ...rule, effect: "deny" } as const;
        const before = strictnessOf(options, facts);
        expect(strictnessOf({ ...options, rules: [...(options.rules ?? []), deny] }, facts)).toBeGreaterThanOrEqual(
          before,
        );
        expect(strictnessOf({ ...options, runtime: [...(options.runtime ?? []), deny] }, facts)).toBeGreaterThanOrEqual(
          before,
        );
      }),
      runs(0.1),
    );
  });

  it("is never milder for an allow that was left out, and never milder for a confirm where it was permitted", async () => {
    await fc.assert(
      fc.property(anyOptions, anyFacts, someRule, (options, facts, rule) => {
        const rules = options.rules ?? [];
        const before = strictnessOf(options, facts);
        const allowed = strictnessOf({ ...options, rules: [...rules, { ...rule, effect: "allow" }] }, facts);
        expect(allowed).toBeLessThanOrEqual(before);
        if (before === strictness.indexOf("DENY")) return;
        expect(allowed).toBe(before);
        expect(
          strictnessOf({ ...options, rules: [...rules, { ...rule, effect: "confirm" }] }, facts),
        ).toBeGreaterThanOrEqual(before);
      }),
      runs(0.1),
    );
  });

  it("is never milder for any skill (case 147)", async () => {
    const anySkills: fc.Arbitrary<ActiveSkills> = fc.record({
      names: fc.array(fc.string(), { maxLength: 2 }),
      allowedTools: fc.option(fc.array(fc.constantFrom("mail", "*", "files__delete", "nothing")), { nil: undefined }),
    });
    await fc.assert(
      fc.property(anyOptions, anyFacts, anySkills, (options, facts, skills) => {
        const without = strictnessOf(options, { ...facts, skills: undefined });
        expect(strictnessOf(options, { ...facts, skills })).toBeGreaterThanOrEqual(without);
      }),
      runs(0.05),
    );
  });

  it("always names a reason, and one that says the answer", async () => {
    await fc.assert(
      fc.property(anyOptions, anyFacts, (options, facts) => {
        const { verdict, reasons } = createPolicy(options).decide(facts);
        expect(reasons.length).toBeGreaterThan(0);
        expect(reasons.some(({ effect }) => effect === verdict)).toBe(true);
      }),
      runs(0.1),
    );
  });

  it("is a denial for a broken question and an extra layer that fails, and never a throw", async () => {
    const broken = fc.oneof(
      fc.anything(),
      fc.tuple(anyFacts, fc.constantFrom("tool", "principal"), fc.anything()).map(([facts, field, value]) => ({
        ...facts,
        [field]: field === "tool" && typeof value === "object" ? null : value,
      })),
    );
    await fc.assert(
      fc.property(anyOptions, broken, (options, facts) => {
        expect(createPolicy(options).decide(facts as Facts).verdict).toBe("DENY");
      }),
      runs(0.02),
    );
    const answers = fc.constantFrom<() => unknown>(
      () => {
        throw new Error("out of order");
      },
      () => undefined,
      async () => [],
      () => [{ guardrail: "x", effect: "ALLOW", why: "please" }],
    );
    await fc.assert(
      fc.property(anyOptions, anyFacts, answers, (options, facts, weigh) => {
        const layer = { name: "x", version: "1", weigh: weigh as () => [] };
        expect(createPolicy({ ...options, also: [layer] }).decide(facts).verdict).toBe("DENY");
      }),
      runs(0.03),
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
      runs(0.02),
    );
  });

  it("is never weaker than the matrix for an override (case 135)", async () => {
    await fc.assert(
      fc.property(anyFacts, fc.constantFrom(...autonomies), (facts, autonomy) => {
        const { verdict, risk } = createPolicy().decide({ ...facts, autonomy });
        if (verdict !== "DENY") expect(stricter(verdict, defaultMatrix[autonomy][risk])).toBe(verdict);
        if (autonomy === "A0") expect(["PREVIEW", "BLOCK", "DENY"]).toContain(verdict);
      }),
      runs(0.02),
    );
  });

  it("permits nothing that the tool list hides", async () => {
    await fc.assert(
      fc.property(anyOptions, anyFacts, (options, facts) => {
        const policy = createPolicy(options);
        if (!policy.offers(facts.principal, facts.tool)) expect(policy.decide(facts).verdict).toBe("DENY");
      }),
      runs(0.1),
    );
  });

  it("equals the report if nothing depends on the call (case 152)", async () => {
    await fc.assert(
      fc.property(anyOptions, anyFacts, fc.array(anyTool, { maxLength: 3 }), (options, facts, more) => {
        const policy = createPolicy(options);
        const { principal, scopes, autonomy, skills, maxRiskUnapproved, tool } = facts;
        const query = {
          principal,
          scopes,
          ...(autonomy !== undefined && { autonomy }),
          ...(maxRiskUnapproved !== undefined && { maxRiskUnapproved }),
          ...(skills !== undefined && { skills }),
        };
        const report = policy.effective?.([tool], query);
        const [line] = report?.lines ?? [];
        const decision = policy.decide({ ...facts, suggestion: undefined });
        expect(line?.by.effect).toBe(line?.verdict);
        if (line?.depends.length === 0) expect(line.verdict).toBe(decision.verdict);
        const all = [tool, ...more];
        expect(policy.effective?.(all.toReversed(), query).lines.length).toBe(all.length);
        expect(createPolicy(options).effective?.(all, query)).toEqual(policy.effective?.(all, query));
      }),
      runs(0.05),
    );
  });
});
