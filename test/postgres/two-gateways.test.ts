import { SystemClock } from "@postern/core";
import { expect, it, onTestFinished } from "vitest";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { openPostgresStore } from "../../packages/postern/src/store/postgres/postgres-store.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { testPostgres } from "../fakes/postgres-server.ts";

const postgres = testPostgres();
const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
const ada = { user: "ada", via: "library" } as const;

interface Gateway {
  readonly runtime: Runtime;
  /** The arguments of its executions. */
  readonly ran: number[];
}

/** Two gateways with one key, as a deployment has. */
async function both(url: string, more: Partial<RuntimeOptions> = {}): Promise<readonly [Gateway, Gateway]> {
  const folder = ownFolder();
  const here = await gateway(url, { folder, ...more });
  return [here, await gateway(url, { folder, ...more })];
}

async function gateway(url: string, more: Partial<RuntimeOptions> = {}): Promise<Gateway> {
  const ran: number[] = [];
  const tool = (name: string, risk: "safe" | "high") =>
    defineTool({
      ...{ name, description: name, risk, effects: "write", idempotent: false, input },
      execute: async (given: unknown) => {
        ran.push((given as { n: number }).n);
        return "done";
      },
    });
  const runtime = await createRuntime({
    tools: [tool("note", "safe"), tool("send", "high")],
    store: (context) => openPostgresStore({ ...context, url, leaseMs: 1000 }),
    approvals: { patience: "suspend" },
    ...more,
  });
  onTestFinished(() => runtime.close());
  return { runtime, ran };
}

it("wakes a caller that waits on one gateway when a person decides on the other", async () => {
  const url = postgres.newStore();
  const here = await gateway(url, { approvals: { patience: "wait" } });
  const there = await gateway(url);
  const waiting = here.runtime.invoke({ tool: "send", arguments: { n: 1 } });
  const open = async () => await there.runtime.approvals.list({ state: "pending" });
  await expect.poll(async () => (await open()).length).toBe(1);
  const [request] = await open();
  await there.runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: ada });
  expect(await waiting).toMatchObject({ status: "ok" });
  expect([here.ran, there.ran]).toEqual([[1], []]);
});

it("runs a call once when it is resumed on both gateways at once", async () => {
  const url = postgres.newStore();
  const [here, there] = await both(url);
  for (let n = 0; n < 10; n += 1) {
    const held = await here.runtime.invoke({ tool: "send", arguments: { n } });
    const approvalId = held.approvalId ?? "";
    await there.runtime.approvals.decide(approvalId, { decision: "approved", by: ada });
    const outcomes = await Promise.all([here.runtime.resume(approvalId), there.runtime.resume(approvalId)]);
    expect(outcomes.some((outcome) => outcome?.status === "ok")).toBe(true);
  }
  expect([...here.ran, ...there.ran].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it("pauses both gateways when one is told to, and uses a grant that was made on the other", async () => {
  const url = postgres.newStore();
  const [here, there] = await both(url);
  await there.runtime.controls.pause({ by: "ops", via: "library" });
  await expect.poll(() => here.runtime.controls.state.paused).toBe(true);
  expect(await here.runtime.invoke({ tool: "note", arguments: { n: 1 } })).toMatchObject({
    refusal: { code: "paused" },
  });
  await here.runtime.controls.resume({ by: "ops", via: "library" });
  await expect.poll(() => there.runtime.controls.state.paused).toBe(false);
  const held = await here.runtime.invoke({ tool: "send", arguments: { n: 2 } });
  const until = Date.now() + 3_600_000;
  const remember = { for: { until }, reason: "the weekly letter" } as const;
  await there.runtime.approvals.decide(held.approvalId ?? "", { decision: "approved", by: ada, remember });
  await expect.poll(() => here.runtime.approvals.grants.list({}).length).toBe(1);
  expect(await here.runtime.invoke({ tool: "send", arguments: { n: 3 } })).toMatchObject({ status: "ok" });
});

it("settles a call as unknown when its gateway is gone, without a restart, and never runs it again", async () => {
  const url = postgres.newStore();
  const here = await gateway(url);
  const clock = new SystemClock();
  const gone = await openPostgresStore({
    url,
    clock,
    serialize: () => '{"call":{"refs":{}},"context":{}}',
    leaseMs: 1000,
  });
  const { callOf, claimOf, recordOf } = await import("../../packages/postern/src/testing/records.ts");
  const record = recordOf(callOf(clock, { tool: "send" }), { fence: gone.incarnation });
  await gone.commit(claimOf(record, { fresh: true }), "synced");
  await gone[Symbol.asyncDispose](); // it leaves the call as a killed process does
  await expect.poll(async () => (await here.runtime.calls.list({})).map(({ state }) => state)).toEqual(["unknown"]);
});

it("keeps one log for both gateways, which each of them verifies", async () => {
  const url = postgres.newStore();
  const [here, there] = await both(url);
  await Promise.all(
    [here, there].flatMap(({ runtime }, i) =>
      Array.from({ length: 40 }, (_, n) => runtime.invoke({ tool: "note", arguments: { n: 100 * i + n } })),
    ),
  );
  await expect
    .poll(() => here.runtime.audit.size === there.runtime.audit.size && here.runtime.audit.size >= 160)
    .toBe(true);
  for (const { runtime } of [here, there]) expect(await runtime.audit.verify()).toMatchObject({ intact: true });
});
