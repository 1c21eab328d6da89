/** A script's own time-outs around its calls: they fire, stand still with the script, and a replay takes the same branch. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import { type EngineUnderTest, enginesHere, recordedDriver } from "../fakes/engine-fixture.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";
import { enginesInTurn } from "../fakes/share.ts";

const engines = await enginesHere(enginesInTurn);
afterAll(() => Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]())));
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function sqliteFile(): `sqlite:${string}` {
  const folder = mkdtempSync(join(tmpdir(), "postern-timers-"));
  folders.push(folder);
  return `sqlite:${join(folder, "postern.db")}`;
}

/** What the tools of a script did, and when. */
class Tools {
  readonly ran: string[] = [];
  readonly #begun = new Map<string, PromiseWithResolvers<void>>();
  readonly #released = new Map<string, PromiseWithResolvers<void>>();

  begun(name: string): Promise<void> {
    return this.#of(this.#begun, name).promise;
  }

  release(name: string): void {
    this.#of(this.#released, name).resolve();
  }

  readonly #run = async (given: unknown): Promise<string> => {
    const { to } = given as { readonly to: string }; // the schema says so
    this.ran.push(to);
    this.#of(this.#begun, to).resolve();
    if (to.startsWith("slow")) await this.#of(this.#released, to).promise;
    return `did ${to}`;
  };

  get all(): Parameters<typeof runtimeFixture>[1] {
    const input = { type: "object", properties: { to: { type: "string" } }, required: ["to"] } as const;
    const tool = { description: "Has an effect.", effects: "write", idempotent: false, input } as const;
    return [
      { ...tool, name: "work", risk: "safe", execute: this.#run },
      { ...tool, name: "post", risk: "high", execute: this.#run },
    ];
  }

  #of(promises: Map<string, PromiseWithResolvers<void>>, name: string): PromiseWithResolvers<void> {
    const known = promises.get(name) ?? Promise.withResolvers<void>();
    promises.set(name, known);
    return known;
  }
}

/** Races `tool({ to })` against 50 ms, then calls `after` (with what came first), and answers what came first. */
function racing(language: "javascript" | "python", tool: string, to: string, after?: string): string {
  if (language === "python")
    return [
      "import asyncio",
      "try:",
      `    first = (await asyncio.wait_for(tools.${tool}(to="${to}"), 0.05)).text`,
      "except asyncio.TimeoutError:",
      '    first = "too slow"',
      ...(after === undefined ? [] : [`tools.${after}(to=first)`]),
      "first",
    ].join("\n");
  return `const late = new Promise((_, fail) => setTimeout(() => fail(new Error("too slow")), 50));
    const first = await Promise.race([tools.${tool}({ to: "${to}" }).then((r) => r.text), late]).catch((e) => e.message);
    ${after === undefined ? "" : `await tools.${after}({ to: first });`}
    first`;
}

interface Scene extends AsyncDisposable {
  readonly h: RuntimeFixture;
  readonly tools: Tools;
}

async function scene({ driver }: EngineUnderTest, options: Parameters<typeof runtimeFixture>[0]): Promise<Scene> {
  const tools = new Tools();
  const seen = { programs: [], limits: [], sessions: [], settled: [] };
  const drivers = [recordedDriver(driver, { seen })]; // the runtime does not close it
  const chains = { drivers, engines: [driver.name], cpuMs: 20_000 };
  const h = await runtimeFixture({ chains, ...options }, tools.all);
  return { h, tools, [Symbol.asyncDispose]: () => h[Symbol.asyncDispose]() };
}

/** The store decides nothing that depends on the engine, so the slowest engine is tried with one. */
const cases = engines.flatMap((engine) => [
  ...(engine.name === "pyodide" ? [] : [{ engine, name: `${engine.name}, memory`, store: () => "memory" as const }]),
  { engine, name: `${engine.name}, SQLite`, store: sqliteFile },
]);

describe.each(cases)("a time-out around a call ($name)", ({ engine, store }) => {
  const { language, missing } = engine;

  it.skipIf(missing !== undefined)("fires, and the call goes on", async () => {
    await using s = await scene(engine, { store: store() });
    const { h, tools } = s;
    const ended = h.runtime.runChain({ code: racing(language, "work", "slow", "work"), language }, asker);
    await tools.begun("slow");
    await settled();
    await h.clock.advance(50);
    await tools.begun("too slow");
    expect(tools.ran).toEqual(["slow", "too slow"]);
    tools.release("slow");
    const result = resultOf(await ended);
    expect(result).toMatchObject({ status: "ok", output_text: "too slow", tool_calls: 2 });
    expect(result["call_trace"]).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  });

  it.skipIf(missing !== undefined)("does not fire before its time", async () => {
    await using s = await scene(engine, { store: store() });
    const { h, tools } = s;
    const ended = h.runtime.runChain({ code: racing(language, "work", "slow"), language }, asker);
    await tools.begun("slow");
    await settled();
    await h.clock.advance(49);
    tools.release("slow");
    expect(resultOf(await ended)).toMatchObject({ status: "ok", output_text: "did slow" });
  });

  it.skipIf(missing !== undefined)("runs on through several calls", async () => {
    await using s = await scene(engine, { store: store() });
    const { h, tools } = s;
    const code =
      language === "python"
        ? 'import asyncio\nasync def both():\n    await tools.work(to="slow 1")\n    await tools.work(to="slow 2")\ntry:\n    await asyncio.wait_for(both(), 0.05)\n    first = "done"\nexcept asyncio.TimeoutError:\n    first = "too slow"\ntools.work(to="after")\nfirst'
        : 'const late = new Promise((done) => setTimeout(done, 50, "too slow")); const both = async () => { await tools.work({ to: "slow 1" }); await tools.work({ to: "slow 2" }); return "done"; }; const first = await Promise.race([both(), late]); await tools.work({ to: "after" }); first';
    const ended = h.runtime.runChain({ code, language }, asker);
    await tools.begun("slow 1");
    await settled();
    await h.clock.advance(30);
    tools.release("slow 1");
    await tools.begun("slow 2");
    await settled();
    await h.clock.advance(20);
    await tools.begun("after");
    tools.release("slow 2");
    expect(resultOf(await ended)).toMatchObject({ status: "ok", output_text: "too slow" });
  });

  it.skipIf(missing !== undefined)("stands still while the script is frozen", async () => {
    await using s = await scene(engine, { store: store() });
    const { h } = s;
    const script = { code: racing(language, "post", "ann"), language };
    const pending = await h.runtime.runChain(script, asker);
    expect(pending.status).toBe("pending");
    await h.clock.advance(600_000);
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    expect(resultOf(await h.runtime.runChain(script, asker))).toMatchObject({ output_text: "did ann" });
  });

  it.skipIf(missing !== undefined).each([
    [0, "did slow"],
    [50, "too slow"],
  ])("stands still while the call waits for a person, and counts the %i ms after it", async (afterMs, first) => {
    const asked = Promise.withResolvers<string>();
    // Asked when the wait has begun. The decision comes from elsewhere.
    const ask = ({ id }: { readonly id: string }): Promise<never> => {
      asked.resolve(id);
      return new Promise(() => {});
    };
    const approvals = { patience: "wait", approver: { name: "silent", ask } } as const;
    await using s = await scene(engine, { store: store(), approvals });
    const { h, tools } = s;
    const ended = h.runtime.runChain({ code: racing(language, "post", "slow"), language }, asker);
    const approvalId = await asked.promise;
    await settled();
    await h.clock.advance(30_000);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await tools.begun("slow");
    await settled();
    await h.clock.advance(afterMs);
    tools.release("slow");
    expect(resultOf(await ended)).toMatchObject({ output_text: first });
  });

  it.skipIf(missing !== undefined)("takes the same branch when the script runs again", async () => {
    await using s = await scene(engine, { store: store() });
    const { h, tools } = s;
    const script = { code: racing(language, "work", "slow", "post"), language };
    const waiting = h.runtime.runChain(script, asker);
    await tools.begun("slow");
    await settled();
    await h.clock.advance(50);
    tools.release("slow"); // its result is there when the script runs again
    const pending = await waiting;
    expect(pending.status).toBe("pending");
    await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    const result = resultOf(await h.runtime.runChain(script, asker));
    expect(result).toMatchObject({ status: "ok", output_text: "too slow", tool_calls: 2 });
    expect(tools.ran).toEqual(["slow", "too slow"]);
  });
});
