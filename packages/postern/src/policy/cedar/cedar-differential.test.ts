import fc from "fast-check";
import { expect, it } from "vitest";
import { anyArguments, anyFacts, anyRule, anyTool } from "../../../../../test/fakes/policy-arbitraries.ts";
import { cedarFrom } from "../../../../../test/oracles/cedar-export.ts";
import { createPolicy, type PolicyOptions } from "../decide.ts";
import type { Decision, Facts } from "../policy.ts";
import type { Condition, Rule } from "../rules/rule-schema.ts";
import { cedarLayer } from "./cedar.ts";

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ equals: fc.constantFrom("ada", 1, true, 'a"\\*\n') }),
  fc.record({ oneOf: fc.constantFrom(["ada", "ada@acme.com"], [0, 1, 100]) }),
  fc.record({ like: fc.constantFrom("*@acme.com", "a*", ["ada", "*x*"]) }),
  fc.record({ above: fc.constantFrom(0, 1), below: fc.constantFrom(1, 100) }, { requiredKeys: ["above"] }),
  fc.record({ atLeast: fc.constantFrom(-1, 2), atMost: fc.constantFrom(2, 100) }, { requiredKeys: ["atMost"] }),
);
const either: fc.Arbitrary<Condition> = fc.oneof(
  condition,
  condition.map((not) => ({ not })),
  fc.tuple(condition, condition).map(([one, not]) => ({ ...one, not })),
  fc.boolean().map((present) => ({ present })),
  condition.map((one) => ({ ...one, present: true })),
);
const conditions = fc.record({ "$.to": either, "$.amount": either }, { requiredKeys: [] });
const effect = fc.constantFrom<Rule["effect"]>("allow", "allow", "confirm", "confirm", "confirm", "deny");
/** Rules of the kinds that Cedar can say; half of them short, so that they apply. */
const rule: fc.Arbitrary<Rule> = fc.oneof(
  fc.record(
    { effect, tool: fc.constantFrom("mail", "constructor", "files__delete", "m*"), arguments: conditions },
    { requiredKeys: ["effect"] },
  ),
  fc
    .tuple(anyRule, effect, conditions, fc.boolean())
    .map(([{ history: _history, arguments: _arguments, scope, ...rest }, effect, given, conditional]) => ({
      ...rest,
      effect,
      ...(scope !== undefined && { scope: "mail:write" }),
      ...(conditional && { arguments: given }),
    })),
);
const options: fc.Arbitrary<PolicyOptions> = fc.record({
  rules: fc.array(rule, { maxLength: 8 }),
  runtime: fc.array(
    rule.filter(({ effect }) => effect !== "allow"),
    { maxLength: 1 },
  ),
  default: fc.constantFrom("allow", "deny"),
});

/** Where nothing but rules, default, safe defaults and scopes decides. */
const free: PolicyOptions = {
  adjusters: false,
  allowUnattendedCritical: true,
  matrix: { A4: { critical: "ALLOW" } },
};
const questions = 100;
const sets = Math.ceil((Number(process.env["FC_RUNS"] ?? 20_000) * 0.2) / questions);

it(`Cedar, told the same rules, decides the same ${sets * questions} questions`, async () => {
  const seed = Number(process.env["FC_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  const policies = fc.sample(options, { seed, numRuns: sets });
  const asked = fc.sample(fc.tuple(anyFacts, anyTool, anyArguments), { seed, numRuns: sets * questions });
  const counts = { ALLOW: 0, CONFIRM: 0, DENY: 0 };
  let at = 0;
  for (const given of policies) {
    const ours = createPolicy({ ...given, ...free });
    const cedar = await cedarLayer(cedarFrom(given));
    for (let i = 0; i < questions; i += 1) {
      // The override for secrets is no rule; and most tools are not off by default, or little else would be seen.
      const [any, tool, args] = asked[at++] as (typeof asked)[number]; // as many as are asked
      const scopes = tool.scopes.filter((scope) => !scope.startsWith("secrets:"));
      const facts: Facts = {
        ...any,
        tool: { ...tool, scopes },
        arguments: args,
        autonomy: "A4",
        maxRiskUnapproved: undefined,
        skills: undefined,
      };
      const ruled = ours.decide(facts).verdict;
      const findings = cedar.weigh(facts);
      const said: Decision["verdict"] =
        findings.length === 0 ? "ALLOW" : findings.some(({ effect }) => effect === "DENY") ? "DENY" : "CONFIRM";
      if (said !== ruled) expect({ seed, given, ...shown(facts), findings, said }).toEqual({ said: ruled });
      counts[said as keyof typeof counts] += 1;
    }
  }
  for (const count of Object.values(counts)) expect(count, JSON.stringify(counts)).toBeGreaterThan(at / 25);
}, 120_000);

function shown({ tool, principal, arguments: args, suggestion }: Facts): object {
  return { tool, principal, args, suggestion };
}
