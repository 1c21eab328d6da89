/** Scripts that are cut short: the answer has their trace, and the same call sent again repeats none of it. */
import { describe, expect, it } from "vitest";
import type { SandboxDriver } from "../../packages/core/src/sandbox/sandbox.ts";
import { FakeClock, settled } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import { approval, EffectTools, holdingScript, openRuntime, runAndLeave, traceOf } from "../fakes/effect-tools.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";
import { storeIn } from "../fakes/story-store.ts";

const files = sqliteFiles();

describe("a script whose caller left", () => {
  it.each(["without a key", "with its key"])("continues when it is sent again %s, and repeats nothing", async (how) => {
    const effects = new EffectTools();
    await using h = await openRuntime(effects);
    const more = how === "with its key" ? { idempotencyKey: "k" } : {};
    await runAndLeave(h, effects, { code: holdingScript }, more);
    await runAndLeave(h, effects, { code: holdingScript }, more);
    effects.isHeld = false;
    const done = await h.runtime.runChain({ code: holdingScript }, { ...asker, ...more });
    expect(resultOf(done)).toMatchObject({ status: "ok", output_text: "end" });
    expect(traceOf(done)).toEqual(["work ok", "hold ok", "work ok"]);
    expect(effects.did).toEqual(["a", "b"]);
    expect(await h.runtime.calls.list({ tool: "tool_chain" })).toMatchObject([{ state: "ok" }]);
  });

  it("continues in a real engine too", async () => {
    const effects = new EffectTools();
    await using h = await runtimeFixture({ chains: { engines: ["quickjs"] } }, effects.tools);
    const code = 'await tools.work({ to: "a" }); await tools.hold({}); await tools.work({ to: "b" }); return "end";';
    await runAndLeave(h, effects, { code });
    effects.isHeld = false;
    const done = await h.runtime.runChain({ code }, asker);
    expect(resultOf(done)).toMatchObject({ status: "ok", output_text: "end", tool_calls: 3 });
    expect(effects.did).toEqual(["a", "b"]);
  });

  it("is recorded as unknown, and can be resumed by its id", async () => {
    const effects = new EffectTools();
    await using h = await openRuntime(effects);
    await runAndLeave(h, effects, { code: holdingScript });
    const [row] = await h.runtime.calls.list({ tool: "tool_chain" });
    expect(row).toMatchObject({ state: "unknown", retryable: true, outcome: { refusal: { code: "cancelled" } } });
    expect(row?.outcome?.text).toContain("send the same call again; it continues from there and repeats nothing");
    effects.isHeld = false;
    expect(resultOf(await h.runtime.chains?.resume(row?.call.id ?? ""))).toMatchObject({ output_text: "end" });
    expect(effects.did).toEqual(["a", "b"]);
  });

  it("keeps its image after a resume, and continues from there", async () => {
    const effects = new EffectTools();
    const how: string[] = [];
    await using h = await openRuntime(effects, fakeDriver({ started: (which) => void how.push(which) }));
    const code = `await call("work", { to: "a" }); await call("mail", { to: "m" }); ${holdingScript}`;
    const pending = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
    await runAndLeave(h, effects, { code });
    effects.isHeld = false;
    const done = await h.runtime.runChain({ code }, asker);
    expect(resultOf(done)).toMatchObject({ status: "ok", output_text: "end", tool_calls: 5 });
    expect(how).toEqual(["start", "restore", "restore"]);
    expect(effects.did).toEqual(["a", "a", "b"]);
    expect(h.ran).toEqual([{ to: "m" }]);
  });

  it("delays the same script sent again until it has closed", async () => {
    const effects = new EffectTools();
    const closing = Promise.withResolvers<void>();
    const driver = fakeDriver();
    let isFirst = true;
    const slow: SandboxDriver = {
      ...driver,
      start: async (...given) => {
        const session = await driver.start(...given);
        const wait = isFirst ? closing.promise : Promise.resolve();
        isFirst = false;
        return Object.assign(session, { [Symbol.asyncDispose]: () => wait });
      },
    };
    await using h = await openRuntime(effects, slow);
    const key = { ...asker, idempotencyKey: "k" };
    await runAndLeave(h, effects, { code: holdingScript }, key);
    effects.isHeld = false;
    const again = h.runtime.runChain({ code: holdingScript }, key);
    await settled(20);
    expect(await h.runtime.chains?.list()).toHaveLength(1);
    closing.resolve();
    expect(resultOf(await again)).toMatchObject({ status: "ok", output_text: "end" });
    expect(effects.did).toEqual(["a", "b"]);
  });

  it("that never closes costs the next call its time, but not its key", async () => {
    const effects = new EffectTools();
    const driver = fakeDriver();
    let isFirst = true;
    const stuck: SandboxDriver = {
      ...driver,
      start: async (...given) => {
        const session = await driver.start(...given);
        const wait = isFirst ? new Promise<void>(() => {}) : Promise.resolve();
        isFirst = false;
        return Object.assign(session, { [Symbol.asyncDispose]: () => wait });
      },
    };
    await using h = await openRuntime(effects, stuck);
    const key = { ...asker, idempotencyKey: "k" };
    await runAndLeave(h, effects, { code: holdingScript }, key);
    const again = h.runtime.runChain({ code: holdingScript }, key);
    await settled(20);
    await h.clock.advance(301_000);
    expect(await again).toMatchObject({ status: "error", refusal: { code: "tool_failed", retry: "later" } });
    expect(await h.runtime.calls.list({ tool: "tool_chain" })).toMatchObject([{ state: "unknown", retryable: true }]);
    expect(effects.did).toEqual(["a"]);
  });
});

describe("the trace of a script", () => {
  it("is in the answer when the only engine stopped in the middle", async () => {
    const effects = new EffectTools();
    const half = fakeDriver({
      step: (step) => (step.step === "done" ? { step: "failed", why: "unsupported", message: "no classes" } : step),
    });
    await using h = await openRuntime(effects, half);
    const done = await h.runtime.runChain({ code: 'await call("work", { to: "a" }); return 1;' }, asker);
    expect(resultOf(done)).toMatchObject({ status: "error", error_kind: "unsupported", tool_calls: 1 });
    expect(done.text).toContain("It had called: work ok.");
    expect(traceOf(done)).toEqual(["work ok"]);
  });

  it("comes from the ledger if the caller left and the engine is down", async () => {
    const effects = new EffectTools();
    const driver = fakeDriver();
    let isDown = false;
    const flaky: SandboxDriver = {
      ...driver,
      start: (...given) => (isDown ? Promise.reject(new Error("no processes left")) : driver.start(...given)),
    };
    await using h = await openRuntime(effects, flaky);
    await runAndLeave(h, effects, { code: holdingScript });
    isDown = true;
    const failed = await h.runtime.runChain({ code: holdingScript }, asker);
    expect(traceOf(failed)).toEqual(["work ok", "hold cancelled"]);
    expect(failed.text).toContain("It had called: work ok, hold cancelled.");
    [isDown, effects.isHeld] = [false, false];
    expect(resultOf(await h.runtime.runChain({ code: holdingScript }, asker))).toMatchObject({ output_text: "end" });
    expect(effects.did).toEqual(["a", "b"]);
  });

  it("is in the answer when the script could not be frozen", async () => {
    const effects = new EffectTools();
    const failing = { isOn: true };
    const clock = new FakeClock();
    const store = new MemoryStore({ clock, serialize: serializeWith((text) => text) });
    const commit = store.commit.bind(store);
    Object.assign(store, {
      commit: (...[write, durability]: Parameters<typeof commit>) =>
        failing.isOn && write.write === "document" && write.kind === "frozen-script"
          ? Promise.reject(new Error("the disk is full"))
          : commit(write, durability),
    });
    await using h = await openRuntime(effects, fakeDriver(), { store, clock });
    const code = 'await call("work", { to: "a" }); await call("mail", { to: "m" }); return "sent";';
    const cut = await h.runtime.runChain({ code }, asker);
    expect(traceOf(cut)).toEqual(["work ok"]);
    expect(resultOf(cut)["error"]).toContain("the disk is full. Its calls are recorded");
    failing.isOn = false;
    const pending = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ output_text: "sent", tool_calls: 2 });
    expect(effects.did).toEqual(["a"]);
    expect(await h.runtime.approvals.list()).toHaveLength(1);
  });

  it("is in the answer when no engine speaks the language any more, and the script keeps waiting", async () => {
    const effects = new EffectTools();
    const kept = storeIn(files.at("postern.db"));
    const code = 'await call("work", { to: "a" }); await call("mail", { to: "m" }); return "sent";';
    let id = "";
    {
      await using h = await openRuntime(effects, fakeDriver(), kept);
      const pending = await h.runtime.runChain({ code }, asker);
      id = pending.callId;
      await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
    }
    {
      await using h = await openRuntime(effects, fakeDriver({ name: "other", language: "python" }), kept);
      const failed = await h.runtime.chains?.resume(id);
      expect(traceOf(failed)).toEqual(["work ok"]);
      expect(await h.runtime.chains?.list()).toMatchObject([{ callId: id, state: "waiting" }]);
    }
    await using h = await openRuntime(effects, fakeDriver(), kept);
    expect(resultOf(await h.runtime.chains?.resume(id))).toMatchObject({ output_text: "sent" });
    expect(effects.did).toEqual(["a"]);
  });
});

describe("an engine that is down after the approval", () => {
  it.each(["snapshot", "replay"] as const)(
    "leaves the script waiting and the approval unused (%s)",
    async (durability) => {
      const effects = new EffectTools();
      const driver = fakeDriver({ durability });
      let isDown = false;
      const down = (): Promise<never> => Promise.reject(new Error("no processes left"));
      const flaky: SandboxDriver = {
        ...driver,
        start: (...given) => (isDown ? down() : driver.start(...given)),
        restore: (...given) => (isDown ? down() : driver.restore(...given)),
      };
      await using h = await openRuntime(effects, flaky);
      const code = 'await call("work", { to: "a" }); await call("mail", { to: "m" }); return "sent";';
      const pending = await h.runtime.runChain({ code }, asker);
      await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
      isDown = true;
      for (const go of [
        () => h.runtime.chains?.resume(pending.callId),
        () => h.runtime.resume(pending.approvalId ?? ""),
        () => h.runtime.runChain({ code }, asker),
      ]) {
        const failed = await go();
        expect(failed).toMatchObject({ status: "error", refusal: { retry: "later" } });
        expect(resultOf(failed)).toMatchObject({ error_kind: "crash", tool_calls: 1 });
        expect(await h.runtime.chains?.list()).toMatchObject([{ callId: pending.callId, state: "waiting" }]);
      }
      isDown = false;
      expect(resultOf(await h.runtime.chains?.resume(pending.callId))).toMatchObject({ output_text: "sent" });
      expect(effects.did).toEqual(["a"]);
      expect(h.ran).toEqual([{ to: "m" }]);
    },
  );

  it("costs a script that has not started only the attempt, also with a key", async () => {
    const effects = new EffectTools();
    const driver = fakeDriver();
    let isDown = true;
    const flaky: SandboxDriver = {
      ...driver,
      start: (...given) => (isDown ? Promise.reject(new Error("no processes left")) : driver.start(...given)),
    };
    await using h = await openRuntime(effects, flaky);
    const key = { ...asker, idempotencyKey: "k" };
    expect(await h.runtime.runChain({ code: "return 1;" }, key)).toMatchObject({ refusal: { retry: "later" } });
    isDown = false;
    expect(resultOf(await h.runtime.runChain({ code: "return 1;" }, key))["output_text"]).toBe("1");
  });
});

it("a script that continues from its image is not checked again", async () => {
  const effects = new EffectTools();
  let checks = 0;
  const driver = fakeDriver({
    check: async () => {
      checks += 1;
      return checks === 1 ? undefined : { invalid: "no such tool any more (line 3)" };
    },
  });
  await using h = await openRuntime(effects, driver);
  const code = 'await call("work", { to: "a" }); await call("mail", { to: "m" }); return "sent";';
  const pending = await h.runtime.runChain({ code }, asker);
  await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
  expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ status: "ok", output_text: "sent" });
  expect(checks).toBe(1);
});

it("a script whose connection is lost continues when it is sent again over HTTP", async () => {
  const effects = new EffectTools();
  await using h = await openRuntime(effects);
  await using http = await httpFixture(h.runtime);
  const body = { tool: "tool_chain", arguments: { code: holdingScript } };
  const controller = new AbortController();
  const token = http.tokens.agent;
  const request = (signal?: AbortSignal): Promise<Response> =>
    http.server.fetch(
      new Request("http://127.0.0.1:7420/v1/calls", {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        ...(signal !== undefined && { signal }),
      }),
    );
  const dropped = request(controller.signal).catch(() => undefined);
  await effects.reached.promise;
  controller.abort();
  await dropped;
  await expect.poll(async () => (await h.runtime.calls.list({ tool: "tool_chain" }))[0]?.state).toBe("unknown");
  effects.isHeld = false;
  expect(await (await request()).json()).toMatchObject({ status: "ok", structured: { output_text: "end" } });
  expect(effects.did).toEqual(["a", "b"]);
});
