import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/fault.ts";
import type { SandboxSession, ScriptStep } from "../engines/sandbox.ts";

export type StopReason = "timeout" | "cancelled" | "closed";

/**
 * The end of a script that does not come by itself: its time is over, its caller left, or the house closes. Then the engine
 * is killed and the calls it waits for are aborted; what they were about to do is settled by the path, not here.
 */
export class ScriptWatch implements Disposable {
  readonly #abort = new AbortController();
  readonly #cancels: (() => void)[] = [];
  readonly #stopped = Promise.withResolvers<void>();
  #reason: StopReason | undefined;
  #engine: SandboxSession | undefined;
  /** Lets whoever waits for the engine's step go on without it: a promise for each step is less than a race. */
  #leave: (() => void) | undefined;

  constructor(clock: Clock, remainingMs: number, signal: AbortSignal) {
    this.#cancels.push(clock.in(remainingMs, () => this.stop("timeout")));
    const cancelled = (): void => this.stop("cancelled");
    if (signal.aborted) cancelled();
    else {
      signal.addEventListener("abort", cancelled, { once: true });
      this.#cancels.push(() => signal.removeEventListener("abort", cancelled));
    }
  }

  /** For the script's calls. */
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
    this.#leave?.();
    this.#abort.abort(new DOMException(`The script was stopped: ${reason}.`, "AbortError"));
  }

  /** The engine's next step; undefined once the script was stopped, also when the engine never answers. */
  next(engine: SandboxSession): Promise<ScriptStep | undefined> {
    return new Promise((resolve) => {
      this.#leave = () => resolve(undefined);
      engine.next().then(
        (step) => resolve(this.#reason === undefined ? step : undefined),
        (error: unknown) => resolve({ step: "failed", why: "crash", message: messageOf(error) }),
      );
      if (this.#reason !== undefined) resolve(undefined);
    });
  }

  /** What comes of it; undefined once the script was stopped, also when nothing ever comes. It must not reject. */
  async until<T>(work: Promise<T>): Promise<T | undefined> {
    const ended = await Promise.race([work, this.#stopped.promise]);
    return this.#reason === undefined && ended !== undefined ? ended : undefined;
  }

  [Symbol.dispose](): void {
    for (const cancel of this.#cancels) cancel();
  }
}
