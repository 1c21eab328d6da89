/**
 * A script's turn in one engine: asked whether it takes it, opened, driven to its end, and closed.
 *
 * Invariant: from the question on the script is listed, and its time, its caller and the house's end reach it; and whatever
 * happens, nothing of the turn is left behind: no entry, no session, no pin, no process.
 * Next: run-script.ts (which engines, and what their ends mean to the caller), drive.ts (the loop).
 */
import { messageOf } from "../calls/fault.ts";
import { type Caller, type Limits, Session } from "../calls/session.ts";
import { releasePins } from "../results/release-pins.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { ChainHouse } from "./chain-house.ts";
import { drive, type End, type Stopped, stoppedEnd } from "./drive.ts";
import type { FrozenScript } from "./frozen.ts";
import { Journal } from "./journal.ts";
import type { ScriptOffer } from "./offer.ts";
import type { Program, SandboxDriver, SandboxSession } from "./sandbox.ts";
import { type Parent, ScriptRun, type Waiting } from "./script-run.ts";
import { Watch } from "./watch.ts";

/** What is the same of a call of `tool_chain` in whichever engine. */
export interface ScriptFacts {
  readonly house: ChainHouse;
  readonly context: ToolContext;
  readonly caller: Caller;
  readonly parent: Parent;
  readonly limits: Limits;
  readonly program: Program;
  readonly offer: ScriptOffer;
  /** Monotonic: what engines that passed took of its time is taken. */
  readonly begunAt: number;
}

/** The engine does not run it, and another one may. */
export interface PassedOver {
  readonly unsupported: string;
  /** Nothing is wrong with the script: the engine could not be started. */
  readonly isDown?: true;
}

/** What a turn comes to, told while its session and what it holds are there still. */
export type Conclude<T> = (end: End, run: ScriptRun, driver: SandboxDriver) => Promise<T>;

export class EngineTurn {
  readonly #driver: SandboxDriver;
  readonly #facts: ScriptFacts;

  constructor(driver: SandboxDriver, facts: ScriptFacts) {
    this.#driver = driver;
    this.#facts = facts;
  }

  /** What of the script this engine cannot do, or how it was stopped while it was asked. Undefined: go. */
  async check(): Promise<PassedOver | { readonly invalid: string } | { readonly stopped: Stopped } | undefined> {
    const { limits, program } = this.#facts;
    if (this.#driver.check === undefined) return undefined;
    return await this.#watched(Math.max(0, limits.totalTimeoutMs - this.#spentMs()), async (watch) => {
      const asked = this.#asked(program, watch.signal);
      const verdict = await watch.until(asked);
      return watch.stopped === undefined ? verdict : { stopped: stoppedEnd(watch.stopped, limits) };
    });
  }

  async #asked(program: Program, signal: AbortSignal): ReturnType<NonNullable<SandboxDriver["check"]>> {
    try {
      return await this.#driver.check?.(program, signal);
    } catch (error) {
      return this.#down(error); // what checks is the engine itself
    }
  }

  /** `unfit`: the engine does not take its own image back. */
  async run<T>(thawed: FrozenScript | undefined, conclude: Conclude<T>): Promise<T | PassedOver | "unfit"> {
    const { house, limits, caller, parent, offer, context } = this.#facts;
    const { parts, makeChild, terms } = house;
    const image = fits(this.#driver, thawed) ? thawed : undefined;
    const before = image?.session ?? { calls: 0, trace: [], pins: [], usedMs: 0 };
    const session = new Session(limits, parts.clock, { ...before, limits, usedMs: before.usedMs + this.#spentMs() });
    const journal = new Journal(terms.outputBytes, image?.journal);
    const waiting: Waiting = new Map(thawed?.header.waiting.map(({ place, approvalId }) => [place, approvalId]));
    try {
      return await this.#watched(session.remainingMs(), async (watch) => {
        const run = new ScriptRun({
          ...{ parts, makeChild, session, journal, watch, waiting, usedCpuMs: image?.usedCpuMs ?? 0 },
          ...{ callsAtOnce: terms.callsAtOnce, parent, offer, context, caller },
        });
        await this.#repin(session);
        const end = await this.#driven(image, run);
        if (end === "unfit" || "unsupported" in end) return end;
        if (end.end === "failed" && end.why === "unsupported") return { unsupported: end.message };
        return await conclude(end, run, this.#driver);
      });
    } finally {
      session.close();
      await releasePins(session, parts.artifacts, parts.log);
    }
  }

  /** Listed while it lasts, and stopped with the house. */
  async #watched<T>(remainingMs: number, body: (watch: Watch) => Promise<T>): Promise<T> {
    const { house, context, parent, program } = this.#facts;
    const { clock } = house.parts;
    const { principal, runId } = parent.authority;
    const { chainId } = program;
    using watch = new Watch(clock, remainingMs, context.signal);
    house.live.register({ chainId, callId: parent.id, tenant: principal.tenant, runId, startedAt: clock.now() }, watch);
    try {
      return await body(watch);
    } finally {
      house.live.deregister(chainId);
    }
  }

  async #driven(image: FrozenScript | undefined, run: ScriptRun): Promise<End | PassedOver | "unfit"> {
    const engine = await this.#opened(image, run).catch((error: unknown) => this.#down(error));
    if (engine === undefined) return "unfit";
    if ("unsupported" in engine) return engine;
    try {
      run.watch.guard(engine);
      return await drive(engine, run, image?.batch);
    } catch (error) {
      const message = `The engine \`${this.#driver.name}\` failed: ${messageOf(error)}`;
      return { end: "failed", why: "crash", message };
    } finally {
      await this.#close(engine);
    }
  }

  async #opened(frozen: FrozenScript | undefined, run: ScriptRun): Promise<SandboxSession | undefined> {
    const { house, program } = this.#facts;
    const { cpuMs, memoryBytes, outputBytes } = house.terms;
    const left = Math.max(1, cpuMs - run.usedCpuMs);
    const limits = { cpuMs: left, memoryBytes, outputBytes, wallMs: run.session.remainingMs() };
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
