import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import {
  createRuntime,
  defineTool,
  type Runtime,
  type RuntimeOptions,
  suspend,
} from "../../packages/postern/src/index.ts";
import type { PolicyOptions } from "../../packages/postern/src/policy/index.ts";
import { newStore, storeIn } from "../fakes/story-store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const keptStore = (): Pick<RuntimeOptions, "folder" | "store"> => {
  const folder = mkdtempSync(join(tmpdir(), "postern-risk-"));
  folders.push(folder);
  return storeIn(join(folder, "postern.db"));
};

const ran: string[] = [];
const terms = { description: "Does it.", risk: "medium", effects: "write", idempotent: false } as const;
const light = defineTool({
  ...terms,
  name: "light",
  input: z.object({ room: z.string(), on: z.boolean(), fail: z.boolean().optional() }),
  classifyRisk: ({ room }) => ({ target: room }),
  execute: async ({ room, fail }) => {
    ran.push(room);
    if (fail === true) throw new Error("no power");
    return "switched";
  },
});
const notify = defineTool({
  ...terms,
  name: "notify",
  input: z.object({ to: z.string() }),
  classifyRisk: ({ to }) => ({ target: to, summary: `tells ${to}` }),
  execute: async ({ to }) => void ran.push(to),
});
const fetchPage = defineTool({
  ...terms,
  name: "fetch_page",
  risk: "safe",
  openWorld: true,
  idempotent: true,
  input: z.object({ url: z.string() }),
  execute: async ({ url }) => `page of ${url}`,
});
const sum = defineTool({ ...terms, name: "sum", risk: "safe", effects: "read", idempotent: true, execute: () => "7" });

async function open(policy: PolicyOptions, more: Partial<RuntimeOptions> = {}) {
  ran.length = 0;
  const clock = (more.clock as FakeClock | undefined) ?? new FakeClock(); // these tests give no other
  const runtime = await createRuntime({
    store: newStore("memory"),
    tools: [light, notify, fetchPage, sum],
    policy,
    autonomy: "A4",
    clock,
    ...more,
  });
  return { runtime, clock };
}
const toggle = (runtime: Runtime, room: string, more: object = {}) =>
  runtime.invoke({ tool: "light", arguments: { room, on: true, ...more } });
const terminal = async (runtime: Runtime, callId: string): Promise<readonly string[]> =>
  (await runtime.audit.query({ callId, limit: 100 }))
    .map(({ type }) => type)
    .filter((type) => type !== "tool_call.attempted");

it("the second equal call to one target inside the cooldown is blocked and suppressed (case 133)", async () => {
  const { runtime, clock } = await open({ pack: { antiFlap: { cooldownSeconds: 60 } } });
  await using _ = runtime;
  expect((await toggle(runtime, "hall")).status).toBe("ok");
  const second = await toggle(runtime, "hall", { on: false });
  expect(second.refusal).toMatchObject({ code: "antiflap_blocked", retry: "later" });
  expect(second.text).toContain("anti-flap cooldown");
  expect(await terminal(runtime, second.callId)).toEqual(["gate.antiflap_block"]);
  const [event] = await runtime.audit.query({ type: "gate.antiflap_block" });
  expect(event).toMatchObject({ outcome: "suppressed", stage: "gate", code: "antiflap_blocked" });
  expect((await toggle(runtime, "kitchen")).status).toBe("ok");
  await clock.advance(60_000);
  expect((await toggle(runtime, "hall")).status).toBe("ok");
  expect(ran).toEqual(["hall", "kitchen", "hall"]);
});

it("exactly one of many calls at once passes, and a failed one may be tried again", async () => {
  const { runtime } = await open({ pack: { antiFlap: { cooldownSeconds: 60 } } }, keptStore());
  await using _ = runtime;
  const outcomes = await Promise.all(Array.from({ length: 12 }, () => toggle(runtime, "hall")));
  expect(outcomes.filter(({ status }) => status === "ok")).toHaveLength(1);
  expect(ran).toEqual(["hall"]);
  expect((await toggle(runtime, "cellar", { fail: true })).refusal?.code).toBe("tool_failed");
  expect((await toggle(runtime, "cellar")).status).toBe("ok");
});

it("notifications above the hourly maximum are blocked, with one alarm (case 134)", async () => {
  const pack: PolicyOptions["pack"] = { notifications: { tools: ["notify"], maxPerHour: 3 } };
  const { runtime, clock } = await open({ pack });
  await using _ = runtime;
  const send = (to: string, agent = "a") =>
    runtime.invoke({ tool: "notify", arguments: { to } }, { principal: { tenant: "default", agent } });
  for (const to of ["p1", "p2", "p3"]) expect((await send(to)).status).toBe("ok");
  const blocked = [await send("p4"), await send("p5", "b"), await send("p6")];
  expect(blocked.map(({ refusal }) => refusal?.code)).toEqual(["storm_blocked", "storm_blocked", "storm_blocked"]);
  for (const { callId } of blocked) expect(await terminal(runtime, callId)).toEqual(["gate.storm_block"]);
  const elsewhere = await runtime.invoke(
    { tool: "notify", arguments: { to: "x" } },
    { principal: { tenant: "other", agent: "a" } },
  );
  expect(elsewhere.status).toBe("ok");
  await clock.advance(1);
  const alarms = await runtime.audit.query({ type: "alarm.notification_storm" });
  expect(alarms).toHaveLength(1);
  expect(alarms[0]).toMatchObject({ tenant: "default", outcome: "failure", data: { tool: "notify" } });
  await clock.advance(3_600_000);
  expect((await send("p7")).status).toBe("ok");
  expect(ran).toEqual(["p1", "p2", "p3", "x", "p7"]);
});

it("the history of a storm survives a restart", async () => {
  const pack: PolicyOptions["pack"] = { notifications: { tools: ["notify"], maxPerHour: 1 } };
  const kept = keptStore();
  const clock = new FakeClock();
  {
    const { runtime } = await open({ pack }, { ...kept, clock });
    await using _ = runtime;
    expect((await runtime.invoke({ tool: "notify", arguments: { to: "a" } })).status).toBe("ok");
  }
  const { runtime } = await open({ pack }, { ...kept, clock });
  await using _ = runtime;
  expect((await runtime.invoke({ tool: "notify", arguments: { to: "b" } })).refusal?.code).toBe("storm_blocked");
});

it("in quiet hours a medium call at A4 waits for a person, who reads the tool's own preview", async () => {
  const quiet: PolicyOptions = { pack: { quietHours: { from: "22:00", to: "07:00", timeZone: "Europe/Berlin" } } };
  const clock = new FakeClock(Date.UTC(2026, 10, 20, 20, 59));
  const { runtime } = await open(quiet, { clock, approvals: { patience: "suspend" } });
  await using _ = runtime;
  const call = { tool: "notify", arguments: { to: "ada" } };
  expect((await runtime.invoke(call)).status).toBe("ok");
  await clock.advance(60_000);
  expect((await runtime.invoke(call)).status).toBe("pending");
  expect((await runtime.invoke({ tool: "sum" })).status).toBe("ok");
  const [asked] = await runtime.approvals.list({});
  expect(asked).toMatchObject({ summary: "tells ada", risk: "high" });
  expect(asked?.why.map(({ rule }) => rule)).toEqual(
    expect.arrayContaining(["pack: quiet hours (22:00 to 07:00, Europe/Berlin)", "adjuster quiet hours"]),
  );
});

it("a block makes no approval, and the tool does not run (case 136)", async () => {
  const { runtime } = await open({ pack: { notifications: { tools: ["*"], maxPerHour: 0 } } }, { autonomy: "A2" });
  await using _ = runtime;
  const outcome = await runtime.invoke({ tool: "notify", arguments: { to: "a" } });
  expect(outcome).toMatchObject({ status: "denied", refusal: { code: "storm_blocked" } });
  expect(outcome.approvalId).toBeUndefined();
  expect(await runtime.approvals.list({})).toEqual([]);
  expect(ran).toEqual([]);
});

it("after a result from the open world, later open-world calls of the run rise one risk level", async () => {
  const kept = keptStore();
  const clock = new FakeClock();
  const call = { tool: "fetch_page", arguments: { url: "https://a.example" } };
  const riskOf = async (runtime: Runtime, request: { tool: string; arguments?: object }, runId: string) => {
    const explanation = await runtime.explain(request as typeof call, { runId });
    return explanation.reached === "verdict" ? explanation.decision.risk : explanation.refusal.code;
  };
  {
    const { runtime } = await open({ taint: "raise" }, { ...kept, clock });
    await using _ = runtime;
    expect(await riskOf(runtime, call, "one")).toBe("safe");
    await runtime.invoke({ tool: "sum" }, { runId: "one" });
    expect(await riskOf(runtime, call, "one")).toBe("safe");
    expect((await runtime.invoke(call, { runId: "one" })).status).toBe("ok");
    expect(await riskOf(runtime, call, "one")).toBe("medium");
    expect(await riskOf(runtime, { tool: "sum", arguments: {} }, "one")).toBe("safe");
    expect(await riskOf(runtime, call, "two")).toBe("safe");
    await runtime.invoke({ tool: "sum" }, { runId: "two" });
  }
  const { runtime } = await open({ taint: "raise" }, { ...kept, clock });
  await using _ = runtime;
  expect(await riskOf(runtime, call, "one")).toBe("medium");
  expect(await riskOf(runtime, call, "two")).toBe("safe");
});

it("raises nothing and keeps no history without `taint`", async () => {
  const { runtime } = await open({}, { autonomy: "A2" });
  await using _ = runtime;
  const call = { tool: "fetch_page", arguments: { url: "https://a.example" } };
  expect([(await runtime.invoke(call)).status, (await runtime.invoke(call)).status]).toEqual(["ok", "ok"]);
});

it("the same call again by its key is answered from its record, and is no repetition", async () => {
  const pack: PolicyOptions["pack"] = {
    antiFlap: { cooldownSeconds: 60 },
    notifications: { tools: ["notify"], maxPerHour: 1 },
  };
  const kept = keptStore();
  const clock = new FakeClock();
  const call = { tool: "notify", arguments: { to: "ada" } };
  {
    const { runtime } = await open({ pack }, { ...kept, clock });
    await using _ = runtime;
    expect((await runtime.invoke(call, { idempotencyKey: "k" })).status).toBe("ok");
    expect(await runtime.invoke(call, { idempotencyKey: "k" })).toMatchObject({ status: "ok", replayed: true });
    expect((await runtime.invoke(call, { idempotencyKey: "other" })).refusal?.code).toBe("antiflap_blocked");
  }
  const { runtime } = await open({ pack }, { ...kept, clock });
  await using _ = runtime;
  expect(await runtime.invoke(call, { idempotencyKey: "k" })).toMatchObject({ status: "ok", replayed: true });
  expect(ran).toEqual([]);
});

it("a suspended tool continues inside the cooldown", async () => {
  const patient = defineTool({
    ...terms,
    name: "patient",
    suspends: true,
    execute: (_, { frozen }) => (frozen === undefined ? suspend("image", "apr_1") : "thawed"),
  });
  const { runtime } = await open({ pack: { antiFlap: { cooldownSeconds: 60 } } }, { tools: [patient] });
  await using _ = runtime;
  expect((await runtime.invoke({ tool: "patient" })).status).toBe("pending");
  expect(await runtime.invoke({ tool: "patient" })).toMatchObject({ status: "ok", text: "thawed" });
  expect((await runtime.invoke({ tool: "patient" })).refusal?.code).toBe("antiflap_blocked");
});
