import { type Clock, messageOf, RuntimeFault } from "@postern/core";
import type { SandboxSession, ScriptStep } from "@postern/core/sandbox";
import type { Journal, LineOfCall } from "./journal.ts";

export type StopReason = "timeout" | "cancelled" | "closed";

/**
 * Stops a script from outside: its time is over, its caller left, or the runtime closes. Then the engine is killed and the
 * calls that the script waits for are aborted. The pipeline settles those calls.
 */
export class ScriptWatch implements Disposable {
  readonly #abort = new AbortController();
  readonly #cancels: (() => void)[] = [];
  readonly #stopped = Promise.withResolvers<void>();
  #reason: StopReason | undefined;
  #engine: SandboxSession | undefined;

  constructor(clock: Clock, remainingMs: number, signal: AbortSignal) {
    this.#cancels.push(clock.in(remainingMs, () => this.stop("timeout")));
    const cancelled = (): void => this.stop("cancelled");
    if (signal.aborted) cancelled();
    else {
      signal.addEventListener("abort", cancelled, { once: true });
      this.#cancels.push(() => signal.removeEventListener("abort", cancelled));
    }
  }

  /** The signal for the script's calls. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get stopped(): StopReason | undefined {
    return this.#reason;
  }

  guard(engine: SandboxSession): void {
    this.#engine = engine;
    if (this.#reason !== undefined) engine.kill();
  }

  stop(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#engine?.kill();
    this.#stopped.resolve();
    this.#abort.abort(new DOMException(`The script was stopped: ${reason}.`, "AbortError"));
  }

  /** The engine's next step. Returns undefined once the script was stopped, also when the engine never answers. */
  next(engine: SandboxSession, passedMs: number): Promise<ScriptStep | undefined> {
    const crashed = (error: unknown): ScriptStep => ({ step: "failed", why: "crash", message: messageOf(error) });
    return this.until(engine.next(passedMs).catch(crashed));
  }

  /** The result of work that does not reject. Returns undefined once the script was stopped, also when the work never ends. */
  async until<T>(work: Promise<T>): Promise<T | undefined> {
    const ended = await Promise.race([work, this.#stopped.promise]);
    return this.#reason === undefined && ended !== undefined ? ended : undefined;
  }

  [Symbol.dispose](): void {
    for (const cancel of this.#cancels) cancel();
  }
}

/** A script that runs now, in this process. */
export interface LiveScript {
  readonly chainId: string;
  readonly callId: string;
}

interface LiveEntry {
  readonly script: LiveScript;
  readonly watch: ScriptWatch;
  readonly left: PromiseWithResolvers<void>;
  /** Undefined before its first turn in an engine. */
  journal?: Journal;
}

/** The scripts that run. A script is registered before its engine starts, and is removed whatever happens. */
export class LiveScripts implements Disposable {
  readonly #entries = new Map<string, LiveEntry>();
  #closed = false;

  /** @throws RuntimeFault `request_invalid` for an id that is wrong, or belongs to a script that runs already */
  register(script: LiveScript, watch: ScriptWatch): void {
    const { chainId } = script;
    if (!/^chain_[0-9a-f]{32}$/.test(chainId))
      throw new RuntimeFault("request_invalid", `\`${chainId.slice(0, 80)}\` is no script's id.`);
    if (this.#entries.has(chainId))
      throw new RuntimeFault("request_invalid", `The script \`${chainId}\` runs already.`);
    this.#entries.set(chainId, { script, watch, left: Promise.withResolvers<void>() });
    if (this.#closed) watch.stop("closed");
  }

  /** Does nothing for an unknown id. */
  deregister(chainId: string): void {
    this.#entries.get(chainId)?.left.resolve();
    this.#entries.delete(chainId);
  }

  /**
   * Registers a script while `body` lasts. If the same script still runs, because its caller left and came back, this one
   * waits until the first has ended or its own watch stops it.
   */
  async during<T>(script: LiveScript, watch: ScriptWatch, body: () => Promise<T>): Promise<T> {
    const { chainId } = script;
    for (let before = this.#entries.get(chainId); before !== undefined; before = this.#entries.get(chainId)) {
      await watch.until(before.left.promise);
      if (watch.stopped !== undefined) return await body();
    }
    this.register(script, watch);
    try {
      return await body();
    } finally {
      this.deregister(chainId);
    }
  }

  /** Shows the calls of a turn in an engine. */
  follow(chainId: string, journal: Journal): void {
    const entry = this.#entries.get(chainId);
    if (entry !== undefined) entry.journal = journal;
  }

  /** The line of each call, while the script runs. */
  linesOf(callId: string): readonly LineOfCall[] {
    const entries = [...this.#entries.values()];
    return entries.find(({ script }) => script.callId === callId)?.journal?.linesOfCalls ?? [];
  }

  get all(): readonly LiveScript[] {
    return [...this.#entries.values()].map(({ script }) => script);
  }

  /** Stops all scripts. Each ends with what it did. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const { watch } of this.#entries.values()) watch.stop("closed");
  }
}
