/** Rule sets and calls that match often: few names and few values, ugly ones included. */
import fc from "fast-check";
import { deepFrozen } from "../../packages/core/src/json.ts";
import { autonomies, risks } from "../../packages/core/src/risk.ts";
import type {
  Condition,
  Facts,
  HistoryLimit,
  PolicyOptions,
  Rule,
  ToolFacts,
} from "../../packages/postern/src/policy/index.ts";
import type { PastCall } from "../../packages/postern/src/policy/policy.ts";

/** Returns the number of runs of a property: its share of `FC_RUNS`, by default 2,000. */
export function runs(share: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(Number(process.env["FC_RUNS"] ?? 2_000) * share) };
}

const names = ["mail", "files__delete", "constructor"];
const patterns = [...names, ...names, "*", "m*l", "files__d*e"];
export const scopeNames: readonly string[] = ["mail:write", "secrets:read"];
const effects = ["read", "write", "destructive"] as const;
const states = ["attempted", "ok", "failed", "unknown"] as const;
const scopes = ["run", "principal", "tenant"] as const;

/** Frozen, as the facts of a registered tool are. */
export const anyTool: fc.Arbitrary<ToolFacts> = fc
  .record(
    {
      tool: fc.constantFrom(...names),
      action: fc.constantFrom("default", "purge"),
      server: fc.constantFrom("mail", "files"),
      risk: fc.constantFrom(...risks),
      riskSource: fc.constantFrom("declared", "operator", "default"),
      effects: fc.constantFrom(...effects, "write"),
      scopes: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.subarray([...scopeNames])),
      permissions: fc.constantFrom([], [], [], ["shell"]),
    },
    { requiredKeys: ["tool", "action", "risk", "riskSource", "effects", "scopes", "permissions"] },
  )
  .map((facts) => deepFrozen(structuredClone(facts)));

const texts = ["ada", "ADA", "ada@acme.com", "/work/a", "/work/../etc/a", "work/a", "/work//a/./b", "~/a", "", "\\a"];
const urls = ["https://acme.com/a", "https://x.acme.com", "http://acme.com@evil.com", "HTTPS://ACME.COM./", "acme.com"];
const numbers = [-1, 0, 1, 2.5, 100];
const wholes = [["ada"], [], { x: 1 }, { x: 1, y: [null, { z: -0 }] }, { y: [null, { z: 0 }], x: 1 }, { x: 2 }];
const value = fc.constantFrom(...texts, ...urls, ...numbers, true, null, ...wholes);
export const anyArguments: fc.Arbitrary<Facts["arguments"]> = fc.record(
  {
    to: value,
    amount: fc.oneof(fc.constantFrom(...numbers), value),
    items: fc.oneof(
      fc.array(fc.record({ path: value, amount: value }, { requiredKeys: [] }), { maxLength: 3 }),
      fc.constantFrom("ada", null, ["ada"]),
    ),
  },
  { requiredKeys: [] },
);

const plainCondition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ equals: fc.constantFrom("ada", 1, true, null, ...wholes) }),
  fc.record({ oneOf: fc.constantFrom([], ["ada", 1], [null, "ada@acme.com"], wholes, [null, ["ada"], 1]) }),
  fc.record({ like: fc.constantFrom("*@acme.com", "a*", ["ada", "*x*"]), ignoreCase: fc.boolean() }),
  fc.record(
    {
      path: fc.constantFrom("/work/**", "/work/*", "work/**", ["/etc/**", "/work/a"], "/**/b"),
      relativeTo: fc.constantFrom("/work", "/etc"),
    },
    { requiredKeys: ["path"] },
  ),
  fc.record({ host: fc.constantFrom("acme.com", "*.acme.com", ["acme.com", "*.acme.com"]) }),
  fc.record(
    {
      above: fc.constantFrom(0, 1),
      atLeast: fc.constantFrom(0, 1),
      below: fc.constantFrom(1, 100),
      atMost: fc.constantFrom(0, 2),
    },
    { requiredKeys: ["above"] },
  ),
  fc.record({ atMost: fc.constantFrom(0, 2.5) }),
  fc.record({ length: fc.record({ atLeast: fc.constantFrom(0, 1), atMost: fc.constantFrom(1, 3) }) }),
);
const presence: fc.Arbitrary<Condition> = fc.boolean().map((present) => ({ present }));
export const anyCondition: fc.Arbitrary<Condition> = fc.oneof(
  plainCondition,
  plainCondition.map((not) => ({ not })),
  fc.tuple(plainCondition, plainCondition).map(([one, not]) => ({ ...one, not })),
);
const anyConditions: fc.Arbitrary<NonNullable<Rule["arguments"]>> = fc.oneof(
  fc.record(
    {
      "$.to": fc.oneof(
        anyCondition,
        presence,
        plainCondition.map((one) => ({ ...one, present: true })),
      ),
      "$.amount": anyCondition,
    },
    { requiredKeys: [] },
  ),
  fc.record({ "$.items[*].path": anyCondition }),
  fc.record({ "$.items[*]": anyCondition }),
);

const selector = {
  tool: fc.constantFrom(...patterns),
  action: fc.constantFrom("*", "purge"),
  state: fc.constantFrom("ok" as const, ["ok", "attempted"] as const, "failed" as const),
  same: fc.constantFrom("$.to", "$.amount"),
};
const sequence = fc.record(selector, { requiredKeys: ["tool"] });
export const anyLimit: fc.Arbitrary<HistoryLimit> = fc
  .record(
    {
      ...selector,
      within: fc.constantFrom(...scopes),
      windowSeconds: fc.constantFrom(1, 10),
      atMost: fc.constantFrom(0, 1, 2, 3),
      sum: fc.record({ path: fc.constantFrom("$.amount", "$.items[*].amount"), atMost: fc.constantFrom(0, 5, 102) }),
      requires: sequence,
      forbids: sequence,
    },
    { requiredKeys: ["within", "atMost"] },
  )
  .chain((limit) => {
    const { atMost: _atMost, sum: _sum, tool: _tool, action: _action, state: _state, same: _same, ...rest } = limit;
    return fc.constantFrom<HistoryLimit>(limit, ...((rest.requires ?? rest.forbids) ? [rest] : []));
  });

const anyPast: fc.Arbitrary<PastCall> = fc.record({
  tool: fc.constantFrom(...names),
  action: fc.constantFrom("default", "purge"),
  effects: fc.constantFrom(...effects),
  risk: fc.constantFrom(...risks),
  at: fc.constantFrom(0, 5_000, 9_000, 10_000),
  state: fc.constantFrom(...states),
  arguments: anyArguments,
});
const anyHistory = fc.record({
  version: fc.constant(1),
  tainted: fc.boolean(),
  calls: fc.array(anyPast, { maxLength: 5 }),
});

export const anyFacts: fc.Arbitrary<Facts> = fc.record(
  {
    tool: anyTool,
    principal: fc.record(
      { tenant: fc.constantFrom("a", "b"), agent: fc.constantFrom("x", "y"), user: fc.constantFrom("ada", "bob") },
      { requiredKeys: ["tenant", "agent"] },
    ),
    scopes: fc.oneof({ weight: 3, arbitrary: fc.constant([...scopeNames]) }, fc.subarray([...scopeNames])),
    autonomy: fc.option(fc.constantFrom(...autonomies), { nil: undefined, freq: 3 }),
    maxRiskUnapproved: fc.option(fc.constantFrom(...risks), { nil: undefined }),
    suggestion: fc.option(fc.record({ risk: fc.constantFrom(...risks) }, { requiredKeys: [] }), { nil: undefined }),
    arguments: anyArguments,
    history: fc.record({ run: anyHistory, principal: anyHistory, tenant: anyHistory }, { requiredKeys: ["run"] }),
    now: fc.constant(10_000),
    skills: fc.option(
      fc.record({
        names: fc.constant(["writer"]),
        allowedTools: fc.constantFrom(undefined, undefined, [], ["mail"], ["*"], ["files__*", "mail"]),
      }),
      { nil: undefined, freq: 2 },
    ),
  },
  {
    requiredKeys: [
      "tool",
      "principal",
      "scopes",
      "autonomy",
      "maxRiskUnapproved",
      "suggestion",
      "arguments",
      "history",
      "now",
    ],
  },
);

export const anyRule: fc.Arbitrary<Rule> = fc.record(
  {
    effect: fc.constantFrom("allow", "allow", "confirm", "deny"),
    tool: fc.constantFrom(...patterns),
    action: fc.constantFrom("*", "*", "purge"),
    server: fc.constantFrom("*", "mail"),
    risk: fc.constantFrom(...risks),
    scope: fc.constantFrom("mail:*", "*"),
    effects: fc.constantFrom("write" as const, ["read", "write"] as const, ["destructive"] as const),
    principal: fc.record(
      { tenant: fc.constantFrom("a", "*"), agent: fc.constantFrom("x"), user: fc.constantFrom("ada", "*") },
      { requiredKeys: [] },
    ),
    arguments: anyConditions,
    history: fc.oneof(anyLimit, fc.array(anyLimit, { minLength: 1, maxLength: 2 })),
  },
  { requiredKeys: ["effect"] },
);
/** A rule with few conditions, which applies to more calls. */
const shortRule: fc.Arbitrary<Rule> = fc.oneof(
  fc.record({ effect: fc.constantFrom("allow", "confirm", "deny"), tool: fc.constantFrom(...patterns) }),
  fc.record({
    effect: fc.constantFrom("allow", "confirm", "deny"),
    tool: fc.constantFrom(...names),
    arguments: anyConditions,
  }),
  fc.record({
    effect: fc.constantFrom("allow", "confirm", "deny"),
    tool: fc.constantFrom(...names),
    history: anyLimit,
  }),
);
export const someRule: fc.Arbitrary<Rule> = fc.oneof(anyRule, shortRule);

/** The reference knows only the adjuster that these arbitraries can meet. */
export const anyOptions: fc.Arbitrary<PolicyOptions> = fc.record(
  {
    adjusters: fc.constantFrom(false as const, {}),
    rules: fc.array(someRule, { maxLength: 6 }),
    runtime: fc.array(
      someRule.filter(({ effect }) => effect !== "allow"),
      { maxLength: 1 },
    ),
    default: fc.constantFrom("allow", "deny"),
    mode: fc.constantFrom("enforce", "enforce", "observe"),
    maxRiskUnapproved: fc.constantFrom("safe", "medium", "high"),
    matrix: fc.constantFrom({}, { A3: { high: "ALLOW" }, A0: { safe: "BLOCK" } }, { A4: { safe: "PREVIEW" } }),
  },
  { requiredKeys: ["rules", "adjusters"] },
);
