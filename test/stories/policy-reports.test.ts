import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import type { PolicyOptions } from "../../packages/postern/src/policy/index.ts";
import { skillText, writeSkill } from "../fakes/skill-folder.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const input = {
  type: "object",
  properties: { amount: { type: "number" }, path: { type: "string" }, password: { type: "string" } },
};
let ran = 0;
const made = (name: string, more: object = {}) =>
  defineTool({
    name,
    description: "A tool.",
    risk: "safe",
    effects: "write",
    idempotent: false,
    inputSchema: input,
    execute: () => {
      ran += 1;
      return "done";
    },
    ...more,
  });
const pay = made("pay");
const look = made("look", { effects: "read", idempotent: true });
const wipe = made("wipe", { effects: "destructive", risk: "high" });
const spend = made("spend", {
  classifyRisk: ({ amount }: { amount?: number }) => ((amount ?? 0) > 100 ? "high" : "safe"),
});

async function runtimeFixture(policy: PolicyOptions, more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  const runtime = await createRuntime({ tools: [pay, look, wipe, spend], policy, autonomy: "A2", ...more });
  cleanups.push(() => runtime.close());
  return runtime;
}

type Simulated = Awaited<ReturnType<Runtime["policy"]["simulate"]>>;
const spelled = ({ changes }: Simulated): readonly string[] =>
  changes.map(({ tool, before, after }) => `${tool} ${before.verdict} ${after.verdict}`);
const grouped = (groups: Simulated["groups"]): readonly string[] =>
  groups.map(({ tool, before, after, count }) => `${count} × ${tool} ${before} ${after}`);

describe("simulate", () => {
  it("runs recorded calls against an edited policy, lists changed verdicts with reasons, and runs no tool", async () => {
    const runtime = await runtimeFixture({});
    await runtime.invoke({ tool: "pay", arguments: { amount: 5 } });
    await runtime.invoke({ tool: "pay", arguments: { amount: 50 } });
    await runtime.invoke({ tool: "look" });
    const before = { ran, events: await runtime.audit.query({}) };
    const simulation = await runtime.policy.simulate({
      rules: [{ effect: "deny", tool: "pay", arguments: { "$.amount": { above: 10 } }, id: "dear", where: "p.yaml:4" }],
    });
    expect(simulation).toMatchObject({
      replayed: 3,
      unknownTools: {},
      pastIsCut: false,
      before: runtime.policy.version,
    });
    expect(simulation.changes).toMatchObject([
      {
        tool: "pay",
        arguments: { amount: 50 },
        before: { verdict: "ALLOW" },
        after: { verdict: "DENY", reasons: [{ rule: "rule deny #1 (dear)", effect: "DENY", where: "p.yaml:4" }] },
      },
    ]);
    expect({ ran, events: await runtime.audit.query({}) }).toEqual(before);
  });

  it("replays limits with the original times, also behind the replayed calls", async () => {
    const clock = new FakeClock();
    const runtime = await runtimeFixture({}, { clock });
    for (let i = 0; i < 4; i += 1) {
      await runtime.invoke({ tool: "pay" });
      await clock.advance(20_000);
    }
    const atMostTwo: PolicyOptions = {
      rules: [{ effect: "deny", tool: "pay", history: { within: "run", windowSeconds: 60, atMost: 2 } }],
    };
    expect(spelled(await runtime.policy.simulate(atMostTwo))).toEqual(["pay ALLOW DENY"]); // at 0, 20, (40), 60
    expect(spelled(await runtime.policy.simulate(atMostTwo, { limit: 1 }))).toEqual(["pay ALLOW DENY"]); // 20 and 40 happened
  });

  it("asks the tool itself about the recorded arguments, at the call's own level", async () => {
    const runtime = await runtimeFixture({}, { approvals: { patience: "suspend" } });
    await runtime.invoke({ tool: "spend", arguments: { amount: 500 } }); // held
    await runtime.invoke({ tool: "spend", arguments: { amount: 5 } }, { autonomy: "A1" }); // held, until it is sent again
    await runtime.invoke({ tool: "spend", arguments: { amount: 5 } });
    const highDenied = await runtime.policy.simulate({ rules: [{ effect: "deny", risk: "high" }] });
    expect(grouped(highDenied.waiting.groups)).toEqual(["1 × spend CONFIRM DENY"]);
    const blocked = await runtime.policy.simulate({ matrix: { A1: { safe: "BLOCK" } } });
    expect([spelled(highDenied), spelled(blocked)]).toEqual([[], ["spend CONFIRM BLOCK"]]);
  });

  it("decides the requests that wait as if they began now, apart from the past, in groups with an example", async () => {
    const clock = new FakeClock();
    const asked = { rules: [{ effect: "confirm", tool: "pay" }] } as const;
    const runtime = await runtimeFixture(asked, { clock, approvals: { patience: "suspend", ttlMs: 3_600_000 } });
    await runtime.invoke({ tool: "look" });
    const ask = async (amount: number): Promise<string> =>
      (await runtime.invoke({ tool: "pay", arguments: { amount } })).approvalId ?? "";
    await ask(1);
    await clock.advance(3_600_001); // no answer came
    await runtime.approvals.decide(await ask(2), { decision: "denied", by: { user: "ada" } });
    await runtime.invoke({ tool: "pay" }, { principal: { tenant: "acme", agent: "ann" } });
    await ask(3);
    await clock.advance(60_000);
    const newest = await ask(4);
    const oneAMinute: PolicyOptions = {
      rules: [
        ...[{ effect: "deny", tool: "pay", arguments: { "$.amount": { above: 2 } } } as const],
        { effect: "deny", tool: "look", history: { within: "run", windowSeconds: 60, atMost: 1 } },
      ],
    };
    const simulated = await runtime.policy.simulate(oneAMinute, { tenant: "default" });
    expect(simulated).toMatchObject({
      replayed: 3,
      waiting: { requests: 2, isCut: false, groups: [{ example: { approvalId: newest, arguments: { amount: 4 } } }] },
    });
    expect(grouped(simulated.waiting.groups)).toEqual(["2 × pay CONFIRM DENY"]);
    expect(grouped(simulated.groups)).toEqual(["2 × pay CONFIRM ALLOW"]);
    const none = await runtime.policy.simulate(asked, { tool: "look" });
    expect(none).toMatchObject({ replayed: 1, waiting: { requests: 0, groups: [] } });
  });

  it("compares a policy with the one in force, and changes nothing", async () => {
    const runtime = await runtimeFixture({});
    const { version } = runtime.policy;
    const next = { policy: { rules: [{ effect: "deny", tool: "pay", id: "closed" }] } } as const;
    expect(await runtime.policy.compare(next)).toMatchObject({
      before: version,
      changes: ["The rule `closed` is added."],
    });
    expect(await runtime.policy.compare({ policy: {} })).toEqual({ before: version, after: version, changes: [] });
    expect(runtime.policy.version).toBe(version);
    expect(await runtime.invoke({ tool: "pay" })).toMatchObject({ status: "ok" });
    expect(await runtime.audit.query({ type: "operator.action.policy_replaced" })).toEqual([]);
  });

  it("takes only one tool's, run's or tenant's calls, or the last few", async () => {
    const runtime = await runtimeFixture({});
    await runtime.invoke({ tool: "pay" }, { runId: "run_1" });
    await runtime.invoke({ tool: "pay" }, { runId: "run_2", principal: { tenant: "acme", agent: "ann" } });
    await runtime.invoke({ tool: "look" }, { runId: "run_1" });
    const none: PolicyOptions = { default: "deny" };
    expect(await runtime.policy.simulate(none, { tool: "pay" })).toMatchObject({ replayed: 2 });
    expect(await runtime.policy.simulate(none, { runId: "run_1" })).toMatchObject({ replayed: 2 });
    expect(await runtime.policy.simulate(none, { tenant: "acme" })).toMatchObject({ replayed: 1 });
    expect(spelled(await runtime.policy.simulate(none, { limit: 1 }))).toEqual(["look ALLOW DENY"]);
    for (const limit of [0, -1, 1.5, Number.NaN, 10_001])
      await expect(runtime.policy.simulate(none, { limit })).rejects.toThrow(`\`limit\` is ${limit};`);
  });

  it("names the missing tools, and refuses an invalid policy", async () => {
    const folder = mkdtempSync(join(tmpdir(), "postern-desk-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const store = `sqlite:${join(folder, "books.db")}`;
    const first = await runtimeFixture({}, { store });
    await first.invoke({ tool: "pay" });
    await first.close();
    const runtime = await runtimeFixture({}, { store, tools: [look] });
    expect(await runtime.policy.simulate({ default: "deny" })).toMatchObject({ replayed: 0, unknownTools: { pay: 1 } });
    const broken = { rules: [{ effect: "dney" }] } as unknown as PolicyOptions; // as a script without types writes it
    await expect(runtime.policy.simulate(broken)).rejects.toMatchObject({ code: "policy_invalid" });
  });
});

describe("the effective policy", () => {
  it("is listed by tool and action with the deciding rule, equal for equal questions (case 152)", async () => {
    const runtime = await runtimeFixture({
      rules: [{ effect: "deny", tool: "pay", id: "no-pay", principal: { agent: "ann" }, where: "p.yaml:9" }],
    });
    const principal = { tenant: "default", agent: "ann" };
    const report = runtime.policy.effective({ principal });
    expect(report?.lines.map(({ tool, verdict, by }) => `${tool} ${verdict} ${by.rule} ${by.where ?? ""}`)).toEqual([
      "look ALLOW default: allow ",
      "pay DENY rule deny #1 (no-pay) p.yaml:9",
      "spend ALLOW default: allow ",
      "wipe DENY default: destructive needs a rule that names `wipe` ",
    ]);
    expect(runtime.policy.effective({ principal })).toEqual(report);
    expect(runtime.policy.effective({ autonomy: "A0" })?.lines[0]).toMatchObject({ tool: "look", verdict: "PREVIEW" });
  });

  it("lists what skills request without permission; in a run, only what is active there (case 147)", async () => {
    const folder = mkdtempSync(join(tmpdir(), "postern-desk-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    writeSkill(folder, "janitor", skillText("name: janitor\ndescription: Cleans.\nallowed-tools: wipe mop"));
    const runtime = await runtimeFixture({}, { skills: { folders: [folder] } });
    const wiping = (runId?: string) =>
      runtime.policy.effective(runId === undefined ? {} : { runId })?.lines.find(({ tool }) => tool === "wipe");
    expect(wiping()).toMatchObject({ verdict: "DENY", requestedBy: ["janitor"] });
    expect(wiping("run_1")).toMatchObject({ verdict: "DENY", requestedBy: [] });
    await runtime.skills?.activate({ tenant: "default", runId: "run_1" }, "janitor");
    expect(wiping("run_1")).toMatchObject({ verdict: "DENY", requestedBy: ["janitor"] });
    expect(runtime.policy.effective({ runId: "run_1" })).toMatchObject({
      unknownRequests: [{ skill: "janitor", tool: "mop" }],
      lines: expect.arrayContaining([expect.objectContaining({ tool: "pay", verdict: "DENY" })]),
    });
  });

  it("warns about rules that cannot be meant, in this policy or another", async () => {
    const runtime = await runtimeFixture({ rules: [{ effect: "deny", tool: "pya" }] });
    expect(runtime.policy.warnings()).toMatchObject([{ code: "matches_no_tool" }]);
    expect(runtime.policy.warnings({ mode: "observe" })).toMatchObject([{ code: "observing" }]);
  });

  it("filters what a caller sees: a tool is listed if some arguments are allowed", async () => {
    const runtime = await runtimeFixture({
      default: "deny",
      rules: [
        { effect: "allow", tool: "pay", arguments: { "$.amount": { atMost: 10 } } },
        { effect: "allow", tool: "look" },
        { effect: "deny", tool: "look", arguments: { "$.path": { path: "/secret/**" } } },
        { effect: "deny", tool: "spend" },
      ],
    });
    expect(runtime.offered({ tenant: "default", agent: "ann" }).map(({ tool }) => tool)).toEqual(["look", "pay"]);
    const denied = runtime.policy
      .effective()
      ?.lines.filter(({ verdict, depends }) => verdict === "DENY" && depends.length === 0);
    expect(denied?.map(({ tool }) => tool)).toEqual(["spend", "wipe"]);
  });
});

describe("an own policy", () => {
  it("decides in calls and in simulations, and has no effective list", async () => {
    const own = {
      version: "own",
      decide: () =>
        ({
          verdict: "ALLOW",
          risk: "safe",
          reasons: [{ rule: "own", effect: "ALLOW" }],
          policyVersion: "own",
        }) as const,
      offers: () => true,
    };
    const runtime = await createRuntime({ tools: [pay], policy: own });
    cleanups.push(() => runtime.close());
    await runtime.invoke({ tool: "pay" });
    expect(runtime.policy.effective()).toBeUndefined();
    expect(runtime.policy.warnings()).toEqual([]);
    expect(spelled(await runtime.policy.simulate({ default: "deny" }))).toEqual(["pay ALLOW DENY"]);
    expect(runtime.policy.test(own, [{ name: "it", call: { tool: "pay" }, expect: "ALLOW" }])).toMatchObject([
      { passed: true },
    ]);
  });
});
