/**
 * A script's turn in one engine: the engine is asked whether it takes the script, opened, driven to its end, and
 * closed.
 * Invariant: while an engine works, the script's time, its caller and the end of the runtime can stop it. A turn leaves
 * nothing behind: no session, no pin, no process.
 * Next: run-script.ts (which engines), script-end.ts (what the ends mean for the caller), drive.ts (the loop).
 */

import { messageOf } from "@postern/core";
import type { SandboxDriver, SandboxSession, ScriptProgram } from "@postern/core/sandbox";
import { Session } from "../call/session.ts";
import { releasePins } from "../results/releases.ts";
import { drive, stoppedEnd } from "./drive.ts";
import type { FrozenScript } from "./frozen.ts";
import { Journal, type JournalState } from "./journal.ts";
import type { ScriptWatch } from "./live-scripts.ts";
import { earlierRows, Replay } from "./replay.ts";
import type { End, StoppedScript } from "./result.ts";
import { type ScriptFacts, ScriptRun } from "./script-run.ts";

/** The engine does not run the script, and another one may. */
export interface SkippedEngine {
  readonly unsupported: string;
  /** Nothing is wrong with the script: the engine could not be started. */
  readonly isDown?: true;
  /** What the script had done in the engine until then. */
  readonly journal?: Journal;
}

/** The script was stopped before the engine had begun with it. */
export interface StoppedBeforeStart {
  readonly stopped: StoppedScript;
}

/** Makes the answer of an end, while the session and its pins exist. */
export type Conclude<T> = (end: End, run: ScriptRun, driver: SandboxDriver) => Promise<T>;

export class EngineTurn {
  readonly #driver: SandboxDriver;
  readonly #facts: ScriptFacts;
  readonly #watch: ScriptWatch;

  constructor(driver: SandboxDriver, facts: ScriptFacts, watch: ScriptWatch) {
    this.#driver = driver;
    this.#facts = facts;
    this.#watch = watch;
  }

  /** Returns what of the script this engine cannot do, or how it was stopped meanwhile. */
  async check(
    thawed?: FrozenScript,
  ): Promise<SkippedEngine | { readonly invalid: string } | StoppedBeforeStart | undefined> {
    const { program, hasRunBefore } = this.#facts;
    if (this.#driver.check === undefined || fits(this.#driver, thawed)) return undefined;
    const problem = await this.#watch.until(this.#ask(program, this.#watch.signal));
    const stopped = this.#stopped();
    if (stopped !== undefined) return stopped;
    if (fits(this.#driver, thawed)) return undefined; // the engine's build is known only now
    // The script was valid when it began. Running it again shows what it did, whatever tools there are now.
    return hasRunBefore && problem !== undefined && "invalid" in problem ? undefined : problem;
  }

  async #ask(program: ScriptProgram, signal: AbortSignal): ReturnType<NonNullable<SandboxDriver["check"]>> {
    try {
      return await this.#driver.check?.(program, signal);
    } catch (error) {
      return signal.aborted ? undefined : this.#down(error); // the engine itself checks
    }
  }

  /**
   * Returns "unfit" when the engine does not take its own image back.
   *
   * @param left the state of the script's earlier turns: from the last engine, or from its frozen state
   */
  async run<T>(
    thawed: FrozenScript | undefined,
    conclude: Conclude<T>,
    left: JournalState | undefined,
  ): Promise<T | SkippedEngine | StoppedBeforeStart | "unfit"> {
    const { host, program, parent, hasRunBefore, timers } = this.#facts;
    const { parts, terms } = host;
    const image = fits(this.#driver, thawed) ? thawed : undefined;
    const session = this.#session(image);
    const journal = new Journal(terms.outputBytes, image?.journal ?? (left && Journal.startAgain(left)));
    host.live.follow(program.chainId, journal);
    try {
      const hasRows = hasRunBefore || journal.made.size > 0;
      const rows = hasRows ? await earlierRows(parent, journal.callsMade, parts) : new Map();
      const run = new ScriptRun(this.#facts, {
        ...{ session, journal, watch: this.#watch, replay: new Replay(journal, rows, timers.open) },
        freezes: this.#driver.capabilities.durability === "snapshot",
        usedCpuMs: image?.usedCpuMs ?? 0,
      });
      await this.#pinAgain(session);
      const end = await this.#driven(image, run);
      if (end === "unfit" || "unsupported" in end || "stopped" in end) return end;
      if (end.end === "failed" && end.why === "unsupported") return { unsupported: end.message, journal };
      return await conclude(end, run, this.#driver);
    } finally {
      session.close();
      await releasePins(session, parts.artifacts, parts.log);
    }
  }

  /** One session for all turns of a script: its id and what it has used stay. */
  #session(image: FrozenScript | undefined): Session {
    const { host, limits, program, usedMs } = this.#facts;
    const { calls, trace, pins } = image?.session ?? { calls: 0, trace: [], pins: [] };
    const id = program.chainId.replace("chain_", "ses_"); // a grant for the session holds in the next turn
    const spentMs = host.parts.clock.monotonic() - this.#facts.begunAt;
    return new Session(limits, host.parts.clock, { id, limits, calls, trace, pins, usedMs: usedMs + spentMs });
  }

  async #driven(
    image: FrozenScript | undefined,
    run: ScriptRun,
  ): Promise<End | SkippedEngine | StoppedBeforeStart | "unfit"> {
    const { watch } = run;
    const opening = this.#opened(image, run).catch((error: unknown) =>
      watch.stopped === undefined ? this.#down(error) : undefined,
    );
    const engine = await watch.until(opening);
    const stopped = this.#stopped();
    if (stopped !== undefined) {
      void opening.then((late) => (late === undefined || "unsupported" in late ? undefined : this.#close(late)));
      return stopped;
    }
    if (engine === undefined) return "unfit";
    if ("unsupported" in engine) return engine;
    try {
      watch.guard(engine);
      return await drive(engine, run, image);
    } catch (error) {
      const message = `The engine \`${this.#driver.name}\` failed: ${messageOf(error)}`;
      return { end: "failed", why: "crash", message };
    } finally {
      await this.#close(engine);
    }
  }

  #stopped(): StoppedBeforeStart | undefined {
    const { stopped } = this.#watch;
    return stopped && { stopped: stoppedEnd(stopped, this.#facts.limits) };
  }

  async #opened(frozen: FrozenScript | undefined, run: ScriptRun): Promise<SandboxSession | undefined> {
    const { host, program } = this.#facts;
    const { cpuMs, memoryBytes, outputBytes, argumentBytes, argumentValues } = host.terms;
    const limits = {
      ...{ memoryBytes, outputBytes, argumentBytes, argumentValues, signal: run.watch.signal },
      cpuMs: Math.max(1, cpuMs - run.turn.usedCpuMs),
      wallMs: run.session.remainingMs(),
    };
    if (frozen?.image !== undefined)
      return this.#driver.restore(frozen.image, limits, program.owner).catch((error: unknown) => {
        const why = messageOf(error);
        host.parts.log(`\`${this.#driver.name}\` does not take a frozen script back (${why}); it is replayed.`);
        return undefined;
      });
    const engine = await this.#driver.start(program, limits);
    host.engines.tried(this.#driver);
    return engine;
  }

  #down(error: unknown): SkippedEngine {
    const { engines, parts } = this.#facts.host;
    const why = messageOf(error);
    engines.tried(this.#driver, why);
    parts.log(`The engine \`${this.#driver.name}\` does not start: ${why}.`);
    return { unsupported: `it does not start (${why})`, isDown: true };
  }

  async #close(engine: SandboxSession): Promise<void> {
    try {
      await engine[Symbol.asyncDispose]();
    } catch (error) {
      this.#facts.host.parts.log(`The engine \`${this.#driver.name}\` could not be closed: ${messageOf(error)}.`);
    }
  }

  /** Pins the artifacts of a frozen script again while it runs. */
  async #pinAgain(session: Session): Promise<void> {
    const { artifacts, log } = this.#facts.host.parts;
    for (const digest of session.pins)
      await artifacts.pin(digest).catch(() => log(`The artifact \`${digest}\` is gone.`));
  }
}

/** Whether the script has an image of this engine's build. Otherwise it is replayed over its journal. */
function fits({ name, engine, capabilities }: SandboxDriver, frozen: FrozenScript | undefined): boolean {
  return (
    frozen?.image !== undefined &&
    capabilities.durability === "snapshot" &&
    frozen.header.driver === name &&
    frozen.header.engine === engine
  );
}
