/** Where the time of a call went: gates, waiting for a person, tool. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import type { Runtime, RuntimeOptions } from "../../packages/postern/src/index.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { bodyOf, httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { probe } from "../fakes/probe.ts";
import { boss, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const person = { principal: { tenant: "default", agent: "local-agent" }, runId: "r1" } as const;
const script = `await call("probe", { n: 1 }); await call("mail", { to: "bob" }); return (await call("probe", { n: 2 })).text;`;

/** `probe` works for 200 ms; `post` is shown for 20 ms, needs a person, and works for 300 ms. */
async function timed(options: RuntimeOptions, post: object = {}) {
  const clock = new FakeClock();
  const works = (ms: number, answer: string) => async () => {
    await clock.advance(ms);
    return answer;
  };
  const driver = fakeDriver();
  const h = await runtimeFixture({ clock, chains: { drivers: [driver], engines: [driver.name] }, ...options }, [
    ...probe({ execute: works(200, "done") }),
    ...probe({
      ...{ name: "post", risk: "high", effects: "write", idempotent: false, previewBinds: false },
      preview: async () => ({ summary: await works(20, "a post")() }),
      execute: works(300, "posted"),
      ...post,
    }),
  ]);
  const http = await httpFixture(h.runtime, { clock });
  const get = async (path: string) => bodyOf(await http.ask(path, { as: "operator" }));
  /** The same in the call, in the list and in its run. */
  const durations = async (id: string): Promise<unknown> => {
    const { durations: shown } = await get(`/v1/calls/${id}`);
    for (const path of ["/v1/calls", "/v1/runs/r1/timeline"]) {
      const { calls } = (await get(path)) as { calls: { call_id: string; durations: unknown }[] };
      expect(calls.find(({ call_id }) => call_id === id)?.durations, path).toEqual(shown);
    }
    return shown;
  };
  const decide = (id: string | undefined, decision: "approved" | "denied") =>
    h.runtime.approvals.decide(id ?? "", { decision, by: boss });
  return { ...h, clock, http, durations, decide, [Symbol.asyncDispose]: () => h.runtime.close() };
}

const post = { tool: "post", arguments: { n: 1 } };
const ask = (runtime: Runtime, more: object = {}) => runtime.invoke(post, { ...person, ...more });

describe.each(storeKinds)("the durations of a call, in %s", (kind) => {
  it("are those of the gates and of the tool where no person was asked", async () => {
    await using h = await timed({ store: newStore(kind) });
    const { callId } = await h.runtime.invoke({ tool: "probe", arguments: {} }, person);
    expect(await h.durations(callId)).toEqual({ gate_ms: 0, tool_ms: 200 });
  });

  it("grow part by part: asked, approved, run by a later arrival", async () => {
    await using h = await timed({ store: newStore(kind) });
    const held = await ask(h.runtime);
    await h.clock.advance(60_000);
    expect(await h.durations(held.callId)).toEqual({ gate_ms: 20 });
    await h.decide(held.approvalId, "approved");
    await h.clock.advance(5_000); // the caller takes its time
    expect(await h.durations(held.callId)).toEqual({ gate_ms: 20, waiting_ms: 60_000 });
    expect((await ask(h.runtime)).status).toBe("ok");
    expect(await h.durations(held.callId)).toEqual({ gate_ms: 20, waiting_ms: 60_000, tool_ms: 300 });
    await h.clock.advance(5_000);
    expect(await ask(h.runtime)).toMatchObject({ replayed: true });
    expect(await h.durations(held.callId)).toEqual({ gate_ms: 20, waiting_ms: 60_000, tool_ms: 300 });
  });

  it("leave the waiting of a caller that waits out of the gates", async () => {
    await using h = await timed({ store: newStore(kind), approvals: { patience: "wait" } });
    const outcome = ask(h.runtime);
    const pending = () => h.runtime.approvals.list({ state: "pending" });
    await expect.poll(pending).toHaveLength(1);
    await h.clock.advance(60_000);
    await h.decide((await pending())[0]?.id, "approved");
    expect(await h.durations((await outcome).callId)).toEqual({ gate_ms: 20, waiting_ms: 60_000, tool_ms: 300 });
  });

  it("have no tool where a person denied, and end where the request expired", async () => {
    await using h = await timed({ store: newStore(kind) });
    const denied = await ask(h.runtime, { idempotencyKey: "denied" });
    await h.clock.advance(1_000);
    await h.decide(denied.approvalId, "denied");
    expect(await h.durations(denied.callId)).toEqual({ gate_ms: 20, waiting_ms: 1_000 });
    const expired = await ask(h.runtime, { idempotencyKey: "expired" });
    await h.clock.advance(9_000_000);
    expect(await h.durations(expired.callId)).toEqual({ gate_ms: 20, waiting_ms: 3_600_000 });
    const again = await ask(h.runtime, { idempotencyKey: "expired" });
    expect(again.status).toBe("pending");
    expect(await h.durations(expired.callId)).toEqual({ gate_ms: 20 }); // those of the request that is open now
  });

  it("count the waiting until the approval, also if it was revoked long after", async () => {
    await using h = await timed({ store: newStore(kind) });
    const held = await ask(h.runtime);
    await h.clock.advance(1_000);
    await h.decide(held.approvalId, "approved");
    await h.clock.advance(500_000);
    expect(await h.runtime.approvals.revoke(held.approvalId ?? "", boss)).toMatchObject({ decided: true });
    expect(await h.durations(held.callId)).toEqual({ gate_ms: 20, waiting_ms: 1_000 });
  });

  it("are those of the last execution where a failure was repeated", async () => {
    let fails = true;
    const clockless = async () => {
      if (fails) throw Object.assign(new Error("no luck"), { retryable: true });
      return "posted";
    };
    await using h = await timed({ store: newStore(kind), autonomy: "A4" }, { execute: clockless, risk: "medium" });
    const keyed = { idempotencyKey: "k" };
    const first = await ask(h.runtime, keyed);
    expect(first.status).toBe("error");
    await h.clock.advance(500_000);
    fails = false;
    expect((await ask(h.runtime, keyed)).status).toBe("ok");
    expect(await h.durations(first.callId)).toEqual({ gate_ms: 0, tool_ms: 0 });
  });

  it("have no tool where its end was not seen, also after an operator settled it", async () => {
    const execute = () => Promise.reject(Object.assign(new Error("cut off"), { unknown: true }));
    await using h = await timed({ store: newStore(kind) }, { execute });
    const held = await ask(h.runtime);
    await h.clock.advance(1_000);
    await h.decide(held.approvalId, "approved");
    expect((await ask(h.runtime)).refusal?.code).toBe("outcome_unknown");
    expect(await h.durations(held.callId)).toEqual({ gate_ms: 20, waiting_ms: 1_000 });
    await h.clock.advance(86_400_000);
    expect(
      await h.runtime.ledger.settle(held.callId, "succeeded", "seen", { by: "boss", via: boss.via }),
    ).toMatchObject({ settled: true });
    expect(await h.durations(held.callId)).toEqual({ gate_ms: 20, waiting_ms: 1_000 });
  });

  it("of a script add up over its stops", async () => {
    await using h = await timed({ store: newStore(kind) });
    const chain = () => h.runtime.runChain({ code: script }, person);
    const stopped = await chain();
    expect(await h.durations(stopped.callId)).toEqual({ gate_ms: 0 });
    await h.clock.advance(60_000);
    await h.decide(stopped.approvalId, "approved");
    expect((await chain()).status).toBe("ok");
    expect(await h.durations(stopped.callId)).toEqual({ gate_ms: 0, waiting_ms: 60_000, tool_ms: 400 });
  });
});

it("an arrival that was refused spent its time in the gates", async () => {
  await using h = await timed({
    archive: { folder: ownFolder() },
    policy: { rules: [{ effect: "deny", tool: "post" }] },
  });
  expect((await ask(h.runtime)).status).toBe("denied");
  await h.runtime.runs?.flush();
  const { calls } = await bodyOf(await h.http.ask("/v1/runs/r1/timeline", { as: "operator" }));
  expect(calls).toMatchObject([{ state: "refused", durations: { gate_ms: 0 } }]);
});
