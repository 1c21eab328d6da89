/**
 * What a decision costs: `node bench/policy.ts [--json]`. Five rules for each tool, as many tools as that makes; each
 * decision is another tool's, another call's. p50 and p99 are over batches of 200 decisions.
 */
import { createPolicy, type PolicyOptions } from "../packages/postern/src/policy/decide.ts";
import type { Facts, PastCall, Policy, ToolFacts } from "../packages/postern/src/policy/policy.ts";
import type { Rule } from "../packages/postern/src/policy/rules/rule-schema.ts";

/** What the rules look at; `layer`: one from outside beside them; `adjusters`: the usual ones beside them, which the other rows do without. */
type Kind = "names" | "arguments" | "history" | "layer" | "adjusters";

const past: readonly PastCall[] = Array.from({ length: 20 }, (_, i) => ({
  tool: `tool_${i % 3}`,
  action: "default",
  effects: "write",
  risk: "safe",
  at: i * 1000,
  state: "ok",
  arguments: { path: `/data/${i}`, amount: i },
}));

function rulesFor(kind: Kind, i: number): readonly Rule[] {
  const tool = `tool_${i}`;
  const plain: readonly Rule[] = [
    { effect: "allow", tool },
    { effect: "deny", tool, action: "purge" },
    { effect: "deny", tool, principal: { user: "eve" } },
  ];
  if (kind === "arguments")
    return [
      ...plain,
      { effect: "deny", tool, arguments: { "$.path": { not: { path: ["/data/**", "/tmp/**"] } } } },
      { effect: "confirm", tool, arguments: { "$.to": { not: { like: "*@acme.com" } }, "$.amount": { above: 100 } } },
    ];
  if (kind === "history")
    return [
      ...plain,
      { effect: "deny", tool, history: { within: "run", windowSeconds: 3600, atMost: 100 } },
      { effect: "confirm", tool, history: { within: "run", sum: { path: "$.amount", atMost: 1e6 } } },
    ];
  return [...plain, { effect: "confirm", tool, scope: "mail:*" }, { effect: "deny", tool, server: "other" }];
}

function policyOf(kind: Kind, rules: number): Policy {
  const tools = rules / 5;
  const options: PolicyOptions = {
    rules: Array.from({ length: tools }, (_, i) => rulesFor(kind, i)).flat(),
    ...(kind !== "adjusters" && { adjusters: false }),
    ...(kind === "layer" && { also: [{ name: "none", version: "1", weigh: () => [] }] }),
  };
  return createPolicy(options);
}

function questions(tools: number): readonly Facts[] {
  const facts = Array.from(
    { length: tools },
    (_, i): ToolFacts => ({
      tool: `tool_${i}`,
      action: "default",
      risk: "safe",
      riskSource: "declared",
      effects: "write",
      scopes: ["a"],
      permissions: [],
    }),
  );
  const principal = { tenant: "default", agent: "agent", user: "ada" };
  return Array.from(
    { length: 1024 },
    (_, i): Facts => ({
      tool: facts[i % tools] as ToolFacts, // in bounds
      principal,
      scopes: ["a", "b"],
      autonomy: "A2",
      maxRiskUnapproved: undefined,
      suggestion: undefined,
      arguments: { path: `/data/run-${i}/notes/file.txt`, to: `ada.${i}@acme.com`, amount: i % 150 },
      history: { run: { version: 1, tainted: false, calls: past } },
      now: 30_000,
    }),
  );
}

interface Row {
  readonly kind: Kind;
  readonly rules: number;
  readonly p50: number;
  readonly p99: number;
}

function measure(kind: Kind, rules: number): Row {
  const policy = policyOf(kind, rules);
  const asked = questions(rules / 5);
  const batch = 200;
  const times: number[] = [];
  let at = 0;
  for (let round = 0; round < 3000; round += 1) {
    const began = performance.now();
    for (let i = 0; i < batch; i += 1) policy.decide(asked[at++ & 1023] as Facts); // in bounds
    if (round >= 500) times.push(((performance.now() - began) * 1000) / batch);
  }
  times.sort((one, other) => one - other);
  const quantile = (part: number): number => Number((times[Math.floor(times.length * part)] ?? 0).toFixed(3));
  return { kind, rules, p50: quantile(0.5), p99: quantile(0.99) };
}

const rows = (["names", "arguments", "history", "layer", "adjusters"] as const).flatMap((kind) =>
  [5, 50, 500].map((rules) => measure(kind, rules)),
);
if (process.argv.includes("--json")) console.log(JSON.stringify({ unit: "microseconds", rows }));
else {
  console.log("microseconds a decision\nrules on   rules     p50     p99");
  for (const { kind, rules, p50, p99 } of rows)
    console.log(
      `${kind.padEnd(10)} ${String(rules).padStart(5)} ${p50.toFixed(3).padStart(7)} ${p99.toFixed(3).padStart(7)}`,
    );
}
