/** Calls on a closed runtime: nothing runs, and the answer says why. */
import { expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { scriptFixture } from "../fakes/script-fixture.ts";

const ran: string[] = [];
const look = defineTool({
  ...{ name: "look", description: "Looks.", risk: "safe", effects: "read", idempotent: true },
  execute: () => void ran.push("look"),
});

it("a closed runtime says that it is closed, to calls, sessions and resumes", async () => {
  const runtime = await createRuntime({ tools: [look] });
  const session = runtime.openSession();
  expect(await runtime.resume("apr_zzz")).toBeUndefined();
  await runtime.close();
  const closed = { status: "error", refusal: { code: "session_closed", retry: "never" } };
  for (const outcome of [await runtime.invoke({ tool: "look" }), await session.invoke({ tool: "look" })]) {
    expect(outcome).toMatchObject(closed);
    expect(outcome.text).toContain("This runtime is closed");
  }
  await expect(runtime.resume("apr_zzz")).rejects.toMatchObject({ name: "RuntimeFault", code: "runtime_closed" });
  expect(ran).toEqual([]);
});

const mail = { tool: "mail", arguments: { to: "x" } };
const slow = { tool: "echo", arguments: { to: "x", slow: true } };
const closing = { status: "error", refusal: { code: "draining", retry: "later" } };

/** Runs a call while the runtime closes, then ends the call and waits for the close. */
async function whileClosing(h: RuntimeFixture, then: (close: Promise<void>) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const running = h.runtime.invoke(slow, { ...asker, signal: stop.signal }).catch(() => undefined);
  await expect.poll(() => h.runtime.calls.list({ tool: "echo", state: "attempted" })).toHaveLength(1);
  const close = h.runtime.close();
  await then(close);
  stop.abort();
  await Promise.all([running, close]);
}

it("a resume while the runtime closes is refused as a new call is, and the approval stays", async () => {
  await using h = await runtimeFixture();
  const { approvalId = "" } = await h.runtime.invoke(mail, asker);
  await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  await whileClosing(h, async () => {
    expect(await h.runtime.invoke(mail, asker)).toMatchObject(closing);
    expect(await h.runtime.resume(approvalId)).toMatchObject(closing);
    expect(await h.runtime.approvals.get(approvalId)).toMatchObject({ state: "approved" });
  });
  expect(h.ran).toEqual([slow.arguments]);
});

it("a script resumed while the runtime closes keeps waiting", async () => {
  await using h = await scriptFixture();
  const script = await h.runtime.runChain({ code: 'await call("mail", { to: "m" });' }, asker);
  await h.runtime.approvals.decide(script.approvalId ?? "", { decision: "approved", by: boss });
  await whileClosing(h, async () => {
    for (const resumed of [h.runtime.chains?.resume(script.callId), h.runtime.resume(script.approvalId ?? "")])
      expect(await resumed).toMatchObject(closing);
    expect(await h.runtime.chains?.list()).toMatchObject([{ callId: script.callId, state: "waiting" }]);
  });
  expect(h.ran).toEqual([slow.arguments]);
});

it("two closes both wait until the runtime is closed", async () => {
  await using h = await runtimeFixture();
  const order: string[] = [];
  await whileClosing(h, async (close) => {
    void close.then(() => order.push("first"));
    void h.runtime.close().then(() => order.push("second"));
    await settled();
    expect(order).toEqual([]);
  });
  await settled();
  expect(order).toEqual(["first", "second"]);
});
