/** On each engine, a script that is cut short does nothing twice, is listed, and shows the line of each call. */
import { afterAll, describe, expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import type { Runtime } from "../../packages/postern/src/index.ts";
import { actor } from "../fakes/actors.ts";
import { approval, EffectTools, openRuntime, runAndLeave, traceOf } from "../fakes/effect-tools.ts";
import { enginesHere, recordedDriver } from "../fakes/engine-fixture.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { asker, type RuntimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";
import { storeIn } from "../fakes/story-store.ts";

/** The host ends a script in the same way on every engine; chains-killed covers Pyodide, which starts slowly. */
const engines = await enginesHere(["quickjs", "cpython"]);
const files = sqliteFiles();
const timeoutMs = 90_000;

afterAll(async () => {
  await Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]()));
});

/** Returns a script with one call a line and its answer in the last line. */
function lines(language: "javascript" | "python", ...calls: readonly (readonly [tool: string, to: string])[]): string {
  const python = calls.map(([tool, to]) => `tools.${tool}(to=${JSON.stringify(to)})`);
  const javascript = calls.map(([tool, to]) => `await tools.${tool}({ to: ${JSON.stringify(to)} });`);
  return language === "python" ? [...python, '"end"'].join("\n") : [...javascript, 'return "end";'].join("\n");
}

/** Returns the lines of a script's calls from the timeline of its run. */
async function linesOf(runtime: Runtime, runId: string): Promise<readonly (readonly [tool: string, line: unknown])[]> {
  await using http = await httpFixture(runtime);
  const answer = await http.ask(`/v1/runs/${runId}/timeline`, { as: "operator" });
  const { calls } = (await answer.json()) as {
    readonly calls: readonly { readonly tool: string; readonly line?: number }[];
  }; // as the route says
  return calls
    .map(({ tool, line }) => [tool, line] as const)
    .filter(([tool]) => tool !== "tool_chain")
    .toReversed();
}

describe.each(engines)("on $name", ({ driver, language, missing }) => {
  const check = (title: string, body: () => Promise<void>): void =>
    it.skipIf(missing !== undefined)(title, body, timeoutMs);
  const seen = { programs: [], limits: [], sessions: [], settled: [] };
  const open = (effects: EffectTools, options: Parameters<typeof openRuntime>[2] = {}): Promise<RuntimeFixture> =>
    openRuntime(effects, recordedDriver(driver, { seen }), options);
  const script = { code: lines(language, ["work", "a"], ["hold", ""], ["work", "b"]), language };
  const whole = ["work ok", "hold ok", "work ok"];

  for (const [how, key] of [
    ["without a key", {}],
    ["with its key", { idempotencyKey: "k" }],
  ] as const)
    check(`a script whose caller left twice continues when it is sent again ${how}, and repeats nothing`, async () => {
      const effects = new EffectTools();
      await using h = await open(effects);
      await runAndLeave(h, effects, script, key);
      await runAndLeave(h, effects, script, key);
      effects.isHeld = false;
      const done = await h.runtime.runChain(script, { ...asker, ...key });
      expect(resultOf(done)).toMatchObject({ status: "ok", output_text: "end" });
      expect(traceOf(done)).toEqual(whole);
      expect(effects.did).toEqual(["a", "b"]);
      expect(await h.runtime.calls.list({ tool: "tool_chain" })).toMatchObject([{ state: "ok" }]);
    });

  check(
    "a script whose caller left is listed as interrupted, with the next step, until it is resumed by its id",
    async () => {
      const effects = new EffectTools();
      await using h = await open(effects);
      await runAndLeave(h, effects, script);
      const [listed, ...others] = (await h.runtime.chains?.list()) ?? [];
      expect(others).toEqual([]);
      expect(listed).toMatchObject({
        ...{ state: "interrupted", source: script.code, language, waiting: [] },
        advice: expect.stringContaining("send the same call again, or resume it"),
      });
      effects.isHeld = false;
      expect(resultOf(await h.runtime.chains?.resume(listed?.callId ?? ""))).toMatchObject({ output_text: "end" });
      expect(effects.did).toEqual(["a", "b"]);
      expect(await h.runtime.chains?.list()).toEqual([]);
    },
  );

  check("a script that a stop of the runtime ended continues in the next runtime, and repeats nothing", async () => {
    const effects = new EffectTools();
    const kept = storeIn(files.at(`${driver.name}.db`));
    {
      const h = await open(effects, kept);
      const running = h.runtime.runChain(script, asker);
      await effects.reached.promise;
      const closing = h.runtime.close();
      await settled(20);
      await h.clock.advance(9_500);
      await closing;
      expect(traceOf(await running)).toEqual(["work ok", "hold cancelled"]);
    }
    effects.isHeld = false;
    await using h = await open(effects, kept);
    expect(await h.runtime.chains?.list()).toMatchObject([{ state: "interrupted" }]);
    const done = await h.runtime.runChain(script, asker);
    expect(resultOf(done)).toMatchObject({ output_text: "end" });
    expect(traceOf(done)).toEqual(whole);
    expect(effects.did).toEqual(["a", "b"]);
  });

  check("a script whose time is over ends, and leaves no open row and no open request", async () => {
    const effects = new EffectTools();
    await using h = await open(effects);
    const running = h.runtime.runChain({ ...script, timeout: 5 }, asker);
    await effects.reached.promise;
    await h.clock.advance(5_001);
    const ended = await running;
    expect(resultOf(ended)).toMatchObject({ status: "timeout", error_kind: "timeout" });
    expect(traceOf(ended)[0]).toBe("work ok");
    expect(effects.did).toEqual(["a"]);
    expect(await h.runtime.chains?.list()).toEqual([]);
  });

  check("a script ends with its trace when an operator stops all calls, and calls nothing more", async () => {
    const effects = new EffectTools();
    await using h = await open(effects);
    effects.release = async () => {
      await h.runtime.controls.pause(actor("operator"), "look at this first");
      return "let go";
    };
    const ended = await h.runtime.runChain(script, asker);
    expect(resultOf(ended)).toMatchObject({ status: "error", error_kind: "script" });
    expect(traceOf(ended)).toEqual(["work ok", "hold ok", "work error"]);
    expect(ended.text).toContain("paused");
    expect(effects.did).toEqual(["a"]);
  });

  check("a script that continues after an approval and is left continues from there, each effect once", async () => {
    const effects = new EffectTools();
    await using h = await open(effects);
    const asking = { code: lines(language, ["work", "a"], ["mail", "m"], ["hold", ""], ["work", "b"]), language };
    const pending = await h.runtime.runChain(asking, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
    await runAndLeave(h, effects, asking);
    effects.isHeld = false;
    const done = await h.runtime.runChain(asking, asker);
    expect(resultOf(done)).toMatchObject({ status: "ok", output_text: "end", tool_calls: 4 });
    expect(effects.did).toEqual(["a", "b"]);
    expect(h.ran).toEqual([{ to: "m" }]);
  });

  check("a running script shows which line made each of its calls, also after it waited", async () => {
    const effects = new EffectTools();
    await using h = await open(effects);
    const asking = { code: lines(language, ["work", "a"], ["mail", "m"], ["hold", ""]), language };
    const context = { ...asker, runId: "told" };
    const pending = await h.runtime.runChain(asking, context);
    expect(await linesOf(h.runtime, "told")).toEqual([
      ["work", 1],
      ["mail", 2],
    ]);
    await h.runtime.approvals.decide(pending.approvalId ?? "", approval);
    const cancel = new AbortController();
    const running = h.runtime.runChain(asking, { ...context, signal: cancel.signal });
    await effects.reached.promise;
    expect(await linesOf(h.runtime, "told")).toEqual([
      ["work", 1],
      ["mail", 2],
      ["hold", 3],
    ]);
    cancel.abort();
    await expect(running).rejects.toThrow(/abort/);
  });
});
