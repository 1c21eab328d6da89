/** A sandbox that is killed at each frame it sends or receives, on each engine (case 221). */
import { expect } from "vitest";
import type { SandboxDriver, SandboxSession } from "../../../packages/core/src/sandbox/sandbox.ts";
import { engineTimeoutMs, isAlive, onEachEngine } from "../../fakes/engine-cases.ts";
import { type EngineFixture, fixtureWithEngine, recordedDriver, resultOf } from "../../fakes/engine-fixture.ts";
import { boss } from "../../fakes/runtime-fixture.ts";

/** Counts the moments around each frame, and kills the process at one of them. */
class Killer {
  readonly #at: number;
  moments = 0;
  killed = 0;

  constructor(at: number) {
    this.#at = at;
  }

  pass(session: object | undefined): void {
    this.moments += 1;
    if (this.moments !== this.#at || !isAlive(session)) return;
    process.kill(Number((session as { readonly pid: number }).pid), "SIGKILL"); // sessions of ours know their process
    this.killed += 1;
  }

  around(driver: SandboxDriver, seen: EngineFixture["seen"]): SandboxDriver {
    const { start, restore } = driver;
    return {
      ...watchedOf(driver),
      start: async (...given) => this.#session(await start(...given), seen.sessions.at(-1)),
      restore: async (...given) => this.#session(await restore(...given), seen.sessions.at(-1)),
    };
  }

  #session(spied: SandboxSession, made: SandboxSession | undefined): SandboxSession {
    const around = async <T>(ask: () => Promise<T>): Promise<T> => {
      this.pass(made);
      const asked = ask();
      this.pass(made);
      const result = await asked;
      this.pass(made);
      return result;
    };
    return {
      next: (passedMs) => around(() => spied.next(passedMs)),
      freeze: () => around(() => spied.freeze()),
      settle: (results) => spied.settle(results),
      kill: () => spied.kill(),
      [Symbol.asyncDispose]: () => spied[Symbol.asyncDispose](),
    };
  }
}

/** Copies the driver without its start and restore. The engine is known after a first check. */
function watchedOf(driver: SandboxDriver): Omit<SandboxDriver, "start" | "restore"> {
  const { name, capabilities } = driver;
  return {
    ...{ name, capabilities, unavailable: () => driver.unavailable() },
    check: async (...given) => driver.check?.(...given),
    get engine() {
      return driver.engine;
    },
  };
}

const all = ["1", "2", "m", "3"];

await onEachEngine(({ driver, language, name, check }) => {
  const script = {
    language,
    code:
      language === "python"
        ? "tools.note(text='1')\ntools.note(text='2')\ntools.mail(text='m')\ntools.note(text='3')\n'end'"
        : "for (const text of ['1', '2']) await tools.note({ text }); await tools.mail({ text: 'm' }); await tools.note({ text: '3' }); 'end'",
  };

  const lived = async (at: number): Promise<Killer> => {
    const killer = new Killer(at);
    await using fixture = await fixtureWithEngine((seen) => [killer.around(recordedDriver(driver, { seen }), seen)]);
    const { runtime, ran, seen } = fixture;
    const send = () => runtime.runChain(script, { idempotencyKey: "script" });
    let ended = await send();
    if (ended.status === "pending") {
      await runtime.approvals.decide(ended.approvalId, { decision: "approved", by: boss });
      ended = await send();
    }
    const moment = `moment ${at}`;
    const { status, error_kind, error, call_trace } = resultOf(ended);
    expect(ran, moment).toEqual(all.slice(0, ran.length));
    expect(
      call_trace.filter((call) => call.status === "ok"),
      moment,
    ).toHaveLength(ran.length);
    if (status === "ok") expect(ran, moment).toEqual(all);
    else expect([status, error_kind, error], moment).toEqual(["error", "crash", expect.stringContaining("sandbox")]);
    const done = ran.length;
    expect([(await send()).replayed, ran.length], moment).toEqual([true, done]);
    expect(await runtime.chains?.list(), moment).toEqual([]);
    if (killer.killed > 0 && status !== "ok")
      await expect.poll(() => isAlive(seen.sessions.at(-1)), { timeout: engineTimeoutMs }).toBe(false);
    return killer;
  };

  check("a killed sandbox has each effect at most once, and its answer says what was done", async () => {
    const { moments } = await lived(0);
    const every = Array.from({ length: moments }, (_, n) => n + 1);
    let killed = 0;
    const tried = name === "pyodide" ? [8] : every; // it starts in seconds
    for (const at of tried) killed += (await lived(at)).killed;
    expect(killed).toBeGreaterThan(tried.length / 2);
  });
});
