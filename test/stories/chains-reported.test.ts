/** What the caller of a script learns: its waiting calls, results it did not read, and failed engines. */
import { describe, expect, it } from "vitest";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../fakes/script-fixture.ts";

describe("a script that waits for persons", () => {
  it("names its waiting calls with their lines", async () => {
    await using h = await scriptFixture();
    const one = await h.runtime.runChain({ code: 'await call("echo", { to: "x" }); await call("mail", { to: "x" });' });
    expect(one.text).toBe(
      `\`tool_chain\` waits for a person's approval of \`mail\` (line 2) (${one.approvalId}). Send the same call again later.`,
    );
    const many = '[1, 2, 3, 4, 5].map((n) => call("mail", { to: String(n) }))';
    const all = await h.runtime.runChain({ code: `await Promise.all(${many});` });
    expect(all.text).toContain("of `mail` (line 1), `mail` (line 2), `mail` (line 3) and 2 more (apr_");
  });
});

describe("a result that is too big for a script", () => {
  const note = "of `report` (line 1) the text was only its beginning";
  const open = (): Promise<RuntimeFixture> =>
    runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } }, [
      {
        name: "report",
        description: "Says much.",
        risk: "safe",
        idempotent: true,
        execute: () => "much ".repeat(5_000),
      },
    ]);

  it.each([
    ["is named once when only its text was read", "return r.text.length;", true],
    ["is named after an error too", 'throw new Error("boom");', true],
    ["is not named when it was passed on", 'await call("echo", { to: { $artifact: r.ref } });', false],
    ["is not named when all of it was read", 'return (await host("materialize", { ref: r.ref })).text.length;', false],
    ["is not named when the answer names it", "return { $artifact: r.ref };", false],
  ])("%s", async (_what, rest, isNamed) => {
    await using h = await open();
    const { text } = await h.runtime.runChain({ code: `const r = await call("report", {}); ${rest}` }, asker);
    expect(text.split(note)).toHaveLength(isNamed ? 2 : 1);
    expect(text).toMatch(/\[chain: \d tool calls? in \d+ ms\]$/);
  });
});

describe("an engine's check that never ends", () => {
  const slow = (seen: { signal?: AbortSignal | undefined }) =>
    fakeDriver({
      check: (_program, signal) => {
        seen.signal = signal;
        return new Promise(() => {});
      },
    });

  it("ends with the script's time, and its signal is aborted", async () => {
    const seen: { signal?: AbortSignal } = {};
    await using h = await runtimeFixture({ chains: { drivers: [slow(seen)], engines: ["fake"] } });
    const running = h.runtime.runChain({ code: "return 1;", timeout: 2 });
    await expect.poll(async () => (await h.runtime.chains?.list())?.length).toBe(1);
    await h.clock.advance(2_000);
    expect(resultOf(await running)).toMatchObject({ status: "timeout", error_kind: "timeout", tool_calls: 0 });
    expect(seen.signal?.aborted).toBe(true);
    expect(await h.runtime.chains?.list()).toEqual([]);
  });

  it("ends with its caller, and with the runtime", async () => {
    const seen: { signal?: AbortSignal } = {};
    await using h = await runtimeFixture({ chains: { drivers: [slow(seen)], engines: ["fake"] } });
    const cancel = new AbortController();
    const left = h.runtime.runChain({ code: "return 1;" }, { signal: cancel.signal });
    await expect.poll(() => seen.signal).toBeDefined();
    cancel.abort();
    await expect(left).rejects.toThrow();
    expect(seen.signal?.aborted).toBe(true);
    const running = h.runtime.runChain({ code: "return 2;" });
    await expect.poll(() => seen.signal?.aborted).toBe(false);
    const closing = h.runtime.close();
    await h.clock.advance(9_000);
    await closing;
    expect(resultOf(await running)).toMatchObject({ status: "error", error_kind: "closed" });
  });

  it("uses the script's time", async () => {
    const driver = fakeDriver({
      check: async () => {
        await h.clock.advance(1_500);
        return undefined;
      },
    });
    await using h = await runtimeFixture({ chains: { drivers: [driver], engines: ["fake"] } });
    const outcome = await h.runtime.runChain({ code: "return 1;", timeout: 2 });
    expect(outcome.text).toContain("in 1500 ms]");
  });
});

describe("an engine that does not start", () => {
  const broken = (name: string): ReturnType<typeof fakeDriver> => ({
    ...fakeDriver({ name }),
    start: () => Promise.reject(new Error("its binding is missing")),
  });

  it("is logged and skipped", async () => {
    const logged: string[] = [];
    const drivers = [broken("first"), fakeDriver({ name: "second" })];
    await using h = await runtimeFixture({
      log: (line) => logged.push(line),
      chains: { drivers, engines: ["first", "second"] },
    });
    const outcome = await h.runtime.runChain({ code: 'return (await call("echo", { to: "x" })).text;' }, asker);
    expect(resultOf(outcome)).toMatchObject({ status: "ok", engine: "second", output_text: "to x", tool_calls: 1 });
    expect(logged.join()).toContain("The engine `first` does not start: its binding is missing.");
    expect(await h.runtime.chains?.list()).toEqual([]);
  });

  it("is skipped also if its check of the script fails", async () => {
    const check = (): Promise<never> => Promise.reject(new Error("no process"));
    const drivers = [fakeDriver({ name: "first", check }), fakeDriver({ name: "second" })];
    await using h = await runtimeFixture({ chains: { drivers, engines: ["first", "second"] } });
    expect(resultOf(await h.runtime.runChain({ code: "return 1;" }))).toMatchObject({ engine: "second" });
  });

  it("is listed with the reason among the engines until it has started", async () => {
    let isDown = true;
    const whole = fakeDriver({ name: "first" });
    const start: typeof whole.start = (...given) =>
      isDown ? Promise.reject(new Error("its binding is missing")) : whole.start(...given);
    await using h = await runtimeFixture({ chains: { drivers: [{ ...whole, start }], engines: ["first"] } });
    const problem = async (): Promise<string | undefined> => (await h.runtime.chains?.engines())?.[0]?.problem;
    expect(await problem()).toBeUndefined();
    await h.runtime.runChain({ code: "return 1;" });
    expect(await problem()).toBe("it did not start for the last script: its binding is missing");
    expect((await h.runtime.chains?.engines())?.[0]?.isDown).toBe(true);
    isDown = false;
    await h.runtime.runChain({ code: "return 2;" });
    expect(await problem()).toBeUndefined();
  });

  it("is the reason for the failure if no other exists, and the script is not blamed", async () => {
    await using h = await runtimeFixture({ chains: { drivers: [broken("first")], engines: ["first"] } });
    expect(resultOf(await h.runtime.runChain({ code: "return 1;" }))).toMatchObject({
      ...{ status: "error", error_kind: "crash", tool_calls: 0 },
      error:
        "No engine here can run this script. first: it does not start (its binding is missing). Nothing of it was run; it may be sent again.",
    });
  });

  it("is skipped by a script that continues too, and its calls are not repeated", async () => {
    const whole = fakeDriver({ name: "first" });
    let isDown = false;
    const first = {
      ...whole,
      start: (...given: Parameters<typeof whole.start>) =>
        isDown ? Promise.reject(new Error("gone")) : whole.start(...given),
      restore: () => Promise.reject(new Error("gone")),
    };
    const drivers = [first, fakeDriver({ name: "second" })];
    await using h = await runtimeFixture({ chains: { drivers, engines: ["first", "second"] } });
    const code = 'await call("echo", { to: "x" }); await call("mail", { to: "y" }); return "sent";';
    const { approvalId = "" } = await h.runtime.runChain({ code }, asker);
    isDown = true;
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "boss", via: "token:operator" } });
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ engine: "second", tool_calls: 2 });
    expect(h.ran).toEqual([{ to: "x" }, { to: "y" }]);
  });
});
