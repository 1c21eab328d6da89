/**
 * A script's turn in one engine: asked whether it takes it, opened, driven to its end, and closed.
 *
 * Invariant: whatever an engine is waited for, the script's time, its caller and the house's end are heard meanwhile; and
 * whatever happens, nothing of the turn is left behind: no session, no pin, no process.
 * Next: run-script.ts (which engines), script-end.ts (what their ends mean to the caller), drive.ts (the loop).
 */
import { messageOf } from "../core/fault.ts";
import { Session } from "../core/session.ts";
import type { SandboxDriver, SandboxSession, ScriptProgram } from "../engines/sandbox.ts";
import { releasePins } from "../results/releases.ts";
import { drive, type End, type StoppedScript, stoppedEnd } from "./drive.ts";
import { Earlier, earlierRows } from "./earlier.ts";
import type { FrozenScript } from "./frozen.ts";
import { Journal, type JournalState } from "./journal.ts";
import type { ScriptFacts } from "./script-facts.ts";
import { ScriptRun } from "./script-run.ts";
import type { ScriptWatch, StopReason } from "./watch.ts";

/** The engine does not run it, and another one may. */
export interface PassedOver {
  readonly unsupported: string;
  /** Nothing is wrong with the script: the engine could not be started. */
  readonly isDown?: true;
  /** What it had done in it by then. */
  readonly journal?: Journal;
}

/** The script was stopped before the engine had begun with it. */
export interface Unbegun {
  readonly stopped: StoppedScript;
}

/** What a turn comes to, told while its session and what it holds are there still. */
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

  /** What of the script this engine cannot do, or how it was stopped while it was asked. Undefined: go. */
  async check(thawed?: FrozenScript): Promise<PassedOver | { readonly invalid: string } | Unbegun | undefined> {
    const { program, wentBefore } = this.#facts;
    if (this.#driver.check === undefined || fits(this.#driver, thawed)) return undefined;
    const verdict = await this.#watch.until(this.#asked(program, this.#watch.signal));
    if (this.#watch.stopped !== undefined) return this.#unbegun(this.#watch.stopped);
    if (fits(this.#driver, thawed)) return undefined; // a build that is known only now: its image goes on, whatever tools there are
    // It was good when it began, whatever there is to call by now: what it did is told by running it.
    return wentBefore && verdict !== undefined && "invalid" in verdict ? undefined : verdict;
  }

  async #asked(program: ScriptProgram, signal: AbortSignal): ReturnType<NonNullable<SandboxDriver["check"]>> {
    try {
      return await this.#driver.check?.(program, signal);
    } catch (error) {
      return signal.aborted ? undefined : this.#down(error); // what checks is the engine itself
    }
  }

  /**
   * `unfit`: the engine does not take its own image back.
   *
   * @param left what is known of what the script did before, by the engine that passed or where it was frozen
   */
  async run<T>(
    thawed: FrozenScript | undefined,
    conclude: Conclude<T>,
    left: JournalState | undefined,
  ): Promise<T | PassedOver | Unbegun | "unfit"> {
    const { house, program } = this.#facts;
    const { parts, terms } = house;
    const image = fits(this.#driver, thawed) ? thawed : undefined;
    const session = this.#session(image);
    const journal = new Journal(terms.outputBytes, image?.journal ?? (left && Journal.again(left)));
    house.live.follow(program.chainId, journal);
    const freezes = this.#driver.capabilities.durability === "snapshot";
    try {
      const earlier = await this.#earlier(journal);
      const turn = { session, journal, watch: this.#watch, earlier, freezes, usedCpuMs: image?.usedCpuMs ?? 0 };
      const run = new ScriptRun(this.#facts, turn);
      await this.#repin(session);
      const end = await this.#driven(image, run);
      if (end === "unfit" || "unsupported" in end || "stopped" in end) return end;
      if (end.end === "failed" && end.why === "unsupported") return { unsupported: end.message, journal };
      return await conclude(end, run, this.#driver);
    } finally {
      session.close();
      await releasePins(session, parts.artifacts, parts.log);
    }
  }

  /** The script's own over all its turns: what of its limits is used stays used, and its name stays. */
  #session(image: FrozenScript | undefined): Session {
    const { house, limits, program, usedMs } = this.#facts;
    const { calls, trace, pins } = image?.session ?? { calls: 0, trace: [], pins: [] };
    const id = program.chainId.replace("chain_", "ses_"); // what is granted for its session holds in its next turn
    return new Session(limits, house.parts.clock, { id, limits, calls, trace, pins, usedMs: usedMs + this.#spentMs() });
  }

  /** Of a script that was never begun before there is nothing. */
  async #earlier({ made, callsMade }: Journal): Promise<Earlier> {
    const { house, parent, wentBefore } = this.#facts;
    if (!wentBefore && made.size === 0) return new Earlier(made, new Map());
    return new Earlier(new Map(made), await earlierRows(parent, callsMade ?? 0, house.parts));
  }

  async #driven(image: FrozenScript | undefined, run: ScriptRun): Promise<End | PassedOver | Unbegun | "unfit"> {
    const { watch } = run;
    const opening = this.#opened(image, run).catch((error: unknown) =>
      watch.stopped === undefined ? this.#down(error) : undefined,
    );
    const engine = await watch.until(opening);
    if (watch.stopped !== undefined) {
      void opening.then((late) => (late === undefined || "unsupported" in late ? undefined : this.#close(late)));
      return this.#unbegun(watch.stopped);
    }
    if (engine === undefined) return "unfit";
    if ("unsupported" in engine) return engine;
    try {
      watch.guard(engine);
      return await drive(engine, run, image?.batch);
    } catch (error) {
      const message = `The engine \`${this.#driver.name}\` failed: ${messageOf(error)}`;
      return { end: "failed", why: "crash", message };
    } finally {
      await this.#close(engine);
    }
  }

  #unbegun(reason: StopReason): Unbegun {
    return { stopped: stoppedEnd(reason, this.#facts.limits) };
  }

  async #opened(frozen: FrozenScript | undefined, run: ScriptRun): Promise<SandboxSession | undefined> {
    const { house, program } = this.#facts;
    const { cpuMs, memoryBytes, outputBytes, argumentBytes, argumentValues } = house.terms;
    const left = Math.max(1, cpuMs - run.usedCpuMs);
    const limits = {
      cpuMs: left,
      memoryBytes,
      outputBytes,
      argumentBytes,
      argumentValues,
      wallMs: run.session.remainingMs(),
      signal: run.watch.signal,
    };
    if (frozen?.image !== undefined)
      return this.#driver.restore(frozen.image, limits, program.owner).catch((error: unknown) => {
        const why = messageOf(error);
        house.parts.log(`\`${this.#driver.name}\` does not take a frozen script back (${why}); it is replayed.`);
        return undefined;
      });
    const engine = await this.#driver.start(program, limits);
    house.engines.tried(this.#driver);
    return engine;
  }

  #down(error: unknown): PassedOver {
    const { engines, parts } = this.#facts.house;
    const why = messageOf(error);
    engines.tried(this.#driver, why);
    parts.log(`The engine \`${this.#driver.name}\` does not start: ${why}.`);
    return { unsupported: `it does not start (${why})`, isDown: true };
  }

  async #close(engine: SandboxSession): Promise<void> {
    try {
      await engine[Symbol.asyncDispose]();
    } catch (error) {
      this.#facts.house.parts.log(`The engine \`${this.#driver.name}\` could not be closed: ${messageOf(error)}.`);
    }
  }

  /** What a frozen script had kept is held again while it runs. */
  async #repin(session: Session): Promise<void> {
    const { artifacts, log } = this.#facts.house.parts;
    for (const digest of session.pins)
      await artifacts.pin(digest).catch(() => log(`The artifact \`${digest}\` is gone.`));
  }

  #spentMs(): number {
    return this.#facts.house.parts.clock.monotonic() - this.#facts.begunAt;
  }
}

/** The same build, and an image at all; else the script is replayed over its journal. */
function fits({ name, engine, capabilities }: SandboxDriver, frozen: FrozenScript | undefined): boolean {
  return (
    frozen?.image !== undefined &&
    capabilities.durability === "snapshot" &&
    frozen.header.driver === name &&
    frozen.header.engine === engine
  );
}
