/** A script's limits hold during every wait, a stop loses nothing, and a script that is over leaves nothing open. */
import { describe, expect, it } from "vitest";
import type { SandboxDriver, SandboxSession } from "../../packages/core/src/sandbox/sandbox.ts";
import { FakeClock, settled } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import type { Store } from "../../packages/postern/src/store/store.ts";
import { approval, EffectTools, holdingScript, openRuntime, runAndLeave, traceOf } from "../fakes/effect-tools.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { asker } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";

const files = sqliteFiles();
const waiting = 'await call("work", { to: "a" }); await call("mail", { to: "m" }); return "sent";';

/** An engine that opens when the test says so, and counts its closed sessions. */
class Slow {
  readonly #driver = fakeDriver();
  opening: Promise<void> | undefined;
  closed = 0;

  get driver(): SandboxDriver {
    return {
      ...this.#driver,
      start: (...given) => this.#late(() => this.#driver.start(...given)),
      restore: (...given) => this.#late(() => this.#driver.restore(...given)),
    };
  }

  async #late(open: () => Promise<SandboxSession>): Promise<SandboxSession> {
    await this.opening;
    const session = await open();
    const close = session[Symbol.asyncDispose].bind(session);
    return Object.assign(session, {
      [Symbol.asyncDispose]: () => {
        this.closed += 1;
        return close();
      },
    });
  }
}

describe("an engine that is slow to start", () => {
  it("gets no longer than the script may take, and is closed when it has started", async () => {
    const slow = new Slow();
    const opened = Promise.withResolvers<void>();
    slow.opening = opened.promise;
    await using h = await openRuntime(new EffectTools(), slow.driver);
    const running = h.runtime.runChain({ code: "return 1;", timeout: 2 }, asker);
    await settled(20);
    expect(await h.runtime.chains?.list()).toHaveLength(1);
    await h.clock.advance(2_001);
    const ended = await running;
    expect(resultOf(ended)).toMatchObject({ status: "timeout", error_kind: "timeout", duration_ms: 2_000 });
    expect(ended).toMatchObject({ refusal: { retry: "later" } });
    expect(await h.runtime.chains?.list()).toEqual([]);
    opened.resolve();
    await settled(20);
    expect(slow.closed).toBe(1);
    expect(resultOf(await h.runtime.runChain({ code: "return 1;", timeout: 2 }, asker))["output_text"]).toBe("1");
  });

  it("holds up neither a caller that leaves nor the same script sent again", async () => {
    const slow = new Slow();
    slow.opening = new Promise(() => {});
    await using h = await openRuntime(new EffectTools(), slow.driver);
    const key = { ...asker, idempotencyKey: "k" };
    const controller = new AbortController();
    const running = h.runtime.runChain({ code: "return 1;" }, { ...key, signal: controller.signal });
    await settled(20);
    controller.abort();
    await expect(running).rejects.toThrow(/abort/);
    slow.opening = undefined;
    expect(resultOf(await h.runtime.runChain({ code: "return 1;" }, key))["output_text"]).toBe("1");
  });

  it("does not stop the runtime from closing", async () => {
    const slow = new Slow();
    slow.opening = new Promise(() => {});
    const h = await openRuntime(new EffectTools(), slow.driver);
    const running = h.runtime.runChain({ code: "return 1;" }, asker);
    await settled(20);
    const closing = h.runtime.close();
    await h.clock.advance(20_000);
    await closing;
    expect(resultOf(await running)).toMatchObject({ status: "error", error_kind: "closed" });
  });

  it("leaves a waiting script unchanged", async () => {
    const effects = new EffectTools();
    const slow = new Slow();
    await using h = await openRuntime(effects, slow.driver);
    const pending = await h.runtime.runChain({ code: waiting }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
    slow.opening = new Promise(() => {});
    const stuck = h.runtime.chains?.resume(pending.callId);
    await settled(50);
    await h.clock.advance(301_000);
    expect(traceOf(await stuck)).toEqual(["work ok"]);
    expect(await h.runtime.chains?.list()).toMatchObject([{ state: "waiting" }]);
    slow.opening = undefined;
    expect(resultOf(await h.runtime.chains?.resume(pending.callId))).toMatchObject({ output_text: "sent" });
    expect(effects.did).toEqual(["a"]);
  });

  it("ends with the script's time also while it checks whether it can run here", async () => {
    let isAsked = 0;
    const asked = { ...fakeDriver({ name: "slow" }), unavailable: () => new Promise<undefined>(() => {}) };
    const other = fakeDriver({ name: "other", language: "python" }); // with it no more are asked at the start
    const first = fakeDriver({
      check: async () => {
        isAsked += 1;
        return { unsupported: "no classes" };
      },
    });
    const effects = new EffectTools();
    await using h = await openRuntime(effects, first, { chains: { drivers: [first, other, asked] } });
    const running = h.runtime.runChain({ code: "return 1;", timeout: 2, language: "javascript" }, asker);
    await expect.poll(() => isAsked).toBe(1);
    await settled(20);
    await h.clock.advance(2_001);
    expect(resultOf(await running)).toMatchObject({ status: "timeout" });
  });
});

describe("a stop of the runtime", () => {
  it.each(["without a key", "with its key"])("loses nothing of a script sent %s", async (how) => {
    const effects = new EffectTools();
    const store = `sqlite:${files.at(`${how}.db`)}`;
    const key = how === "with its key" ? { idempotencyKey: "k" } : {};
    {
      const h = await openRuntime(effects, fakeDriver(), { store });
      const running = h.runtime.runChain({ code: holdingScript }, { ...asker, ...key });
      await effects.reached.promise;
      const closing = h.runtime.close();
      await settled(20);
      await h.clock.advance(9_500);
      await closing;
      const ended = await running;
      expect(traceOf(ended)).toEqual(["work ok", "hold cancelled"]);
      expect(ended).toMatchObject({ refusal: { retry: "later" } });
      expect(resultOf(ended)["error"]).toContain("send the same call again. It continues from there");
    }
    effects.isHeld = false;
    await using h = await openRuntime(effects, fakeDriver(), { store });
    const done = await h.runtime.runChain({ code: holdingScript }, { ...asker, ...key });
    expect(resultOf(done)).toMatchObject({ output_text: "end" });
    expect(traceOf(done)).toEqual(["work ok", "hold ok", "work ok"]);
    expect(effects.did).toEqual(["a", "b"]);
  });

  it("leaves a script that had continued from its image waiting there", async () => {
    const effects = new EffectTools();
    const store = `sqlite:${files.at("thawed.db")}`;
    const code = `await call("mail", { to: "m" }); ${holdingScript}`;
    let id = "";
    {
      const h = await openRuntime(effects, fakeDriver(), { store });
      const pending = await h.runtime.runChain({ code }, asker);
      id = pending.callId;
      await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
      const running = h.runtime.runChain({ code }, asker);
      await effects.reached.promise;
      const closing = h.runtime.close();
      await settled(20);
      await h.clock.advance(9_500);
      await closing;
      expect(traceOf(await running)).toEqual(["mail ok", "work ok", "hold cancelled"]);
    }
    effects.isHeld = false;
    await using h = await openRuntime(effects, fakeDriver(), { store });
    expect(await h.runtime.chains?.list()).toMatchObject([{ callId: id, state: "waiting" }]);
    expect(resultOf(await h.runtime.chains?.resume(id))).toMatchObject({ output_text: "end", tool_calls: 4 });
    expect(effects.did).toEqual(["a", "b"]);
  });
});

describe("a script that is over", () => {
  const asking = 'try { await call("mail", { to: "m" }); } catch (error) { return error.message; }';

  it("withdraws its open request, and a late decision learns so", async () => {
    await using h = await openRuntime(new EffectTools(), fakeDriver(), { approvals: { patience: "wait" } });
    const running = h.runtime.runChain({ code: asking }, asker);
    await settled(100);
    await h.clock.advance(56_000);
    expect(resultOf(await running)["output_text"]).toBe(
      "The request was not decided in time. It is withdrawn when this script ends.",
    );
    const [asked] = await h.runtime.approvals.list();
    expect(asked).toMatchObject({ state: "withdrawn", decision: { reason: "the script that asked is over" } });
    expect(await h.runtime.approvals.decide(asked?.id ?? "", approval)).toMatchObject({ decided: false });
  });

  it("withdraws its request also if its time ended while a person was asked", async () => {
    await using h = await openRuntime(new EffectTools(), fakeDriver(), { approvals: { patience: "wait" } });
    const running = h.runtime.runChain({ code: asking, timeout: 5 }, asker);
    await settled(100);
    await h.clock.advance(5_001);
    expect(resultOf(await running)).toMatchObject({ status: "timeout" });
    expect(await h.runtime.approvals.list()).toMatchObject([{ state: "withdrawn" }]);
  });

  it("keeps its request open while it may continue: an approval after its caller left resumes it", async () => {
    await using h = await openRuntime(new EffectTools(), fakeDriver(), { approvals: { patience: "wait" } });
    const controller = new AbortController();
    const running = h.runtime.runChain({ code: waiting }, { ...asker, signal: controller.signal });
    await settled(100);
    controller.abort();
    await expect(running).rejects.toThrow(/abort/);
    const [asked] = await h.runtime.approvals.list({ state: "pending" });
    await h.runtime.approvals.decide(asked?.id ?? "", approval);
    expect(resultOf(await h.runtime.resume(asked?.id ?? ""))).toMatchObject({ output_text: "sent", tool_calls: 2 });
    expect(h.ran).toEqual([{ to: "m" }]);
  });

  it("keeps its files, however long it waited", async () => {
    const effects = new EffectTools();
    const ttlMs = 90 * 86_400_000;
    await using h = await openRuntime(effects, fakeDriver(), { approvals: { patience: "suspend", ttlMs } });
    const code = `const file = await host("artifact", { text: "the report", type: "text/plain" });
      await call("mail", { to: "m" }); await call("work", { to: "a" }); return file.ref;`;
    const pending = await h.runtime.runChain({ code }, asker);
    const digest = pending.files?.[0]?.artifact ?? "";
    for (let day = 0; day < 40; day += 1) await h.clock.advance(86_400_000);
    await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
    const done = await h.runtime.chains?.resume(pending.callId);
    expect(resultOf(done)).toMatchObject({ status: "ok", output_text: digest, output_blocks_refs: [digest] });
    const { bytes } = await h.runtime.artifacts.open(digest, asker.principal);
    expect(Buffer.from(bytes).toString()).toBe("the report");
    expect(effects.did).toEqual(["a"]);
  });

  it("answers without a file that is gone", async () => {
    const effects = new EffectTools();
    const ttlMs = 90 * 86_400_000;
    await using h = await openRuntime(effects, fakeDriver(), { approvals: { patience: "suspend", ttlMs } });
    const code = `const file = await host("artifact", { text: "the report", type: "text/plain" });
      await call("mail", { to: "m" }); ${holdingScript}`;
    const { approvalId = "" } = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(approvalId, approval);
    await runAndLeave(h, effects, { code });
    for (let day = 0; day < 40; day += 1) await h.clock.advance(86_400_000);
    effects.isHeld = false;
    const done = await h.runtime.runChain({ code }, asker);
    expect(resultOf(done)).toMatchObject({ status: "ok", output_text: "end", output_blocks_refs: [] });
    expect(traceOf(done)).toEqual(["mail ok", "work ok", "hold ok", "work ok"]);
  });

  /** Counts the frozen documents in a store. */
  async function kept({ documents }: Store): Promise<number> {
    const ids = await documents.list("frozen-script", "");
    const bodies = await Promise.all(ids.map((id) => documents.get("frozen-script", id)));
    return bodies.filter((each) => each !== undefined && each.body !== null).length;
  }

  it("loses its frozen document a month after its request expired, and is replayed afterwards", async () => {
    const effects = new EffectTools();
    const clock = new FakeClock();
    const store = new MemoryStore({ clock, serialize: serializeWith((text) => text) });
    await using h = await openRuntime(effects, fakeDriver(), { store, clock });
    const code = `await call("work", { to: "a" });
      try { await call("mail", { to: "m" }); } catch (error) { return error.code; }`;
    await h.runtime.runChain({ code }, asker);
    for (let day = 0; day < 29; day += 1) await clock.advance(86_400_000);
    expect(await kept(store)).toBe(1);
    for (let day = 0; day < 3; day += 1) await clock.advance(86_400_000);
    await expect.poll(() => kept(store)).toBe(0);
    const done = await h.runtime.runChain({ code }, asker);
    expect(resultOf(done)).toMatchObject({ output_text: "approval_expired", tool_calls: 2 });
    expect(effects.did).toEqual(["a"]);
  });

  it("leaves no frozen document, however it ended", async () => {
    const effects = new EffectTools();
    const clock = new FakeClock();
    const store = new MemoryStore({ clock, serialize: serializeWith((text) => text) });
    let isUnsupported = false;
    const driver = fakeDriver({
      step: (step) => (isUnsupported ? { step: "failed", why: "unsupported", message: "no classes" } : step),
    });
    await using h = await openRuntime(effects, driver, { store, clock });
    const code = `await call("mail", { to: "m" }); ${holdingScript}`;
    for (const idempotencyKey of ["left", "unsupported"]) {
      const pending = await h.runtime.runChain({ code }, { ...asker, idempotencyKey });
      await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
      expect(await kept(store)).toBe(1);
      effects.isHeld = true;
      await runAndLeave(h, effects, { code }, { idempotencyKey });
      expect(await kept(store)).toBe(1);
      effects.isHeld = false;
      isUnsupported = idempotencyKey === "unsupported";
      const { status } = await h.runtime.runChain({ code }, { ...asker, idempotencyKey });
      expect(status).toBe(isUnsupported ? "error" : "ok");
      expect(await kept(store)).toBe(0);
    }
  });
});
