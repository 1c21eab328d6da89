import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import type { PolicyOptions } from "../../packages/postern/src/policy/index.ts";
import { newStore, storeIn, storeKinds } from "../fakes/story-store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const sent: string[] = [];
const mail = defineTool({
  name: "send_email",
  description: "Sends a mail.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  input: z.object({ to: z.string() }),
  execute: async ({ to }) => {
    sent.push(to);
    return `sent to ${to}`;
  },
});
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  input: z.object({ amount: z.number() }),
  execute: async ({ amount }) => {
    if (amount === 13) throw Object.assign(new Error("the bank is closed"), { retryable: true });
    return `paid ${amount}`;
  },
});
const payroll = defineTool({
  name: "read_payroll",
  description: "Reads what everybody earns.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  input: z.object({}),
  execute: () => "much",
});
const read = defineTool({
  name: "read_file",
  description: "Reads.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  input: z.object({ path: z.string() }),
  execute: async ({ path }) => {
    if (path === "missing") throw new Error("no such file");
    return path;
  },
});
const write = defineTool({
  name: "write_file",
  description: "Writes.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  input: z.object({ path: z.string() }),
  execute: async ({ path }) => path,
});

const threeAnHour: PolicyOptions = {
  rules: [
    {
      effect: "deny",
      tool: "send_email",
      id: "mails",
      history: { within: "principal", windowSeconds: 3600, atMost: 3 },
    },
  ],
};

function open(policy: PolicyOptions, more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  sent.length = 0;
  return createRuntime({
    store: newStore("memory"),
    tools: [mail, pay, read, write],
    policy,
    autonomy: "A4",
    ...more,
  });
}
const file = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "postern-history-"));
  folders.push(folder);
  return join(folder, "postern.db");
};
const mailTo = (runtime: Runtime, to: string, runId?: string) =>
  runtime.invoke({ tool: "send_email", arguments: { to } }, runId === undefined ? {} : { runId });
const statuses = (outcomes: readonly { readonly status: string }[]): string =>
  outcomes
    .map(({ status }) => status)
    .sort()
    .join();

it("at most 3 mails an hour: of 64 sent at once exactly 3 go out, on disk as well", async () => {
  for (const kind of storeKinds) {
    await using runtime = await open(threeAnHour, { store: newStore(kind) });
    const outcomes = await Promise.all(Array.from({ length: 64 }, (_, i) => mailTo(runtime, `p${i}`, `run_${i % 7}`)));
    expect(outcomes.filter(({ status }) => status === "ok")).toHaveLength(3);
    expect(sent).toHaveLength(3);
    const refused = outcomes.filter(({ status }) => status !== "ok");
    expect(new Set(refused.map(({ refusal }) => refusal?.code))).toEqual(new Set(["permission_denied"]));
    expect(refused[0]?.text).toContain("mails");
  }
});

it("an hour later the next mail goes out, and after a restart the past still counts", async () => {
  const clock = new FakeClock();
  const kept = storeIn(file());
  {
    await using runtime = await open(threeAnHour, { ...kept, clock });
    for (const to of ["a", "b", "c"]) expect((await mailTo(runtime, to)).status).toBe("ok");
    await clock.advance(1_800_000);
  }
  await using runtime = await open(threeAnHour, { ...kept, clock });
  expect((await mailTo(runtime, "d")).refusal?.code).toBe("permission_denied");
  await clock.advance(1_800_001);
  expect((await mailTo(runtime, "e")).status).toBe("ok");
});

it("a total of 500 a run: what would pass it is refused, another run has its own", async () => {
  await using runtime = await open({
    rules: [{ effect: "deny", tool: "pay", history: { within: "run", sum: { path: "$.amount", atMost: 500 } } }],
  });
  const paid = (amount: number, runId: string, idempotencyKey = `${amount} ${runId}`) =>
    runtime.invoke({ tool: "pay", arguments: { amount } }, { runId, idempotencyKey });
  const four = ["1", "2", "3", "4"].map((key) => paid(200, "one", key));
  expect(statuses(await Promise.all(four))).toBe("denied,denied,ok,ok");
  expect((await paid(100, "one")).status).toBe("ok");
  expect((await paid(1, "one")).status).toBe("denied");
  expect((await paid(500, "two")).status).toBe("ok");
});

it("read before write: only what was read in this run, and read well, may be written", async () => {
  await using runtime = await open({
    rules: [
      {
        effect: "deny",
        tool: "write_file",
        history: { within: "run", requires: { tool: "read_file", same: "$.path" } },
      },
    ],
  });
  const call = (tool: string, path: string, runId = "one") => runtime.invoke({ tool, arguments: { path } }, { runId });
  expect((await call("write_file", "a")).status).toBe("denied");
  await call("read_file", "a");
  expect((await call("write_file", "a")).status).toBe("ok");
  expect((await call("write_file", "b")).status).toBe("denied");
  expect((await call("write_file", "a", "two")).status).toBe("denied");
  await call("read_file", "missing");
  expect((await call("write_file", "missing")).status).toBe("denied");
});

it("a call that was held is weighed with the past of the moment it runs", async () => {
  await using runtime = await open(threeAnHour, { autonomy: "A2", approvals: { patience: "suspend" } });
  const held = await Promise.all(["a", "b", "c", "d"].map((to) => mailTo(runtime, to)));
  expect(statuses(held)).toBe("pending,pending,pending,pending");
  const ids = held.map(({ approvalId = "" }) => approvalId);
  for (const id of ids) await runtime.approvals.decide(id, { decision: "approved", by: { user: "ada" } });
  const resumed = await Promise.all(ids.map((id) => runtime.resume(id)));
  expect(resumed.filter((outcome) => outcome?.status === "ok")).toHaveLength(3);
  expect(resumed.filter((outcome) => outcome?.refusal?.code === "permission_denied")).toHaveLength(1);
  expect(sent).toHaveLength(3);
});

it("a call stays in the past however often the same approval is used at once, on disk as well", async () => {
  const forbids = { within: "run", forbids: { tool: "read_payroll" } } as const;
  const rules = [
    { effect: "confirm", tool: "read_payroll", id: "ask" },
    { effect: "deny", tool: "send_email", id: "no-leak", history: forbids },
  ] as const;
  for (const [times, store] of [
    [1, newStore("memory")],
    [2, newStore("memory")],
    [5, newStore("sqlite")],
  ] as const) {
    await using runtime = await open({ rules }, { tools: [mail, payroll], store, approvals: { patience: "suspend" } });
    const call = { tool: "read_payroll", arguments: {} };
    expect((await mailTo(runtime, "before", "r")).status).toBe("ok");
    const { approvalId = "" } = await runtime.invoke(call, { runId: "r" });
    await runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "boss" } });
    await Promise.all(Array.from({ length: times }, () => runtime.invoke(call, { runId: "r" })));
    expect((await mailTo(runtime, "after", "r")).refusal?.code).toBe("permission_denied");
    expect(sent).toEqual(["before"]);
  }
});

it("a refused call leaves no trace in the past, and a call tried again counts once", async () => {
  await using runtime = await open({
    rules: [{ effect: "deny", tool: "pay", history: { within: "tenant", atMost: 2 } }],
  });
  const paid = (amount: number, idempotencyKey: string) =>
    runtime.invoke({ tool: "pay", arguments: { amount } }, { idempotencyKey });
  expect((await paid(13, "k")).refusal?.code).toBe("tool_failed");
  expect((await runtime.invoke({ tool: "pay", arguments: { amount: "much" } })).refusal?.code).toBe(
    "arguments_invalid",
  );
  expect((await paid(2, "l")).status).toBe("ok");
  expect((await paid(13, "k")).refusal?.code).toBe("tool_failed");
  expect((await paid(3, "m")).refusal?.code).toBe("permission_denied");
});

it("a policy that does not look back keeps no past", async () => {
  await using runtime = await open({ rules: [{ effect: "allow", tool: "send_email" }] });
  expect(statuses(await Promise.all(["a", "b", "c", "d", "e"].map((to) => mailTo(runtime, to))))).toBe(
    "ok,ok,ok,ok,ok",
  );
});
