import type { CallEvent, Clock } from "@postern/core";

/** How long a call that was ended may take to be recorded. */
const settleMs = 1_000;

/** Counts the calls between `arrived` and `left`. Closing waits for them. */
export class InFlight {
  readonly #clock: Clock;
  readonly #log: (problem: string) => void;
  #count = 0;
  #idle: (() => void) | undefined;
  readonly #running = new Set<() => void>();

  constructor(clock: Clock, log: (problem: string) => void) {
    this.#clock = clock;
    this.#log = log;
  }

  see({ moment }: CallEvent): void {
    if (moment === "arrived") this.#count += 1;
    else if (moment === "left") {
      this.#count -= 1;
      if (this.#count === 0) this.#idle?.();
    }
  }

  /** Calls `then` when a running call gets no more time. Returns a function that takes it back. */
  onStop(then: () => void): () => void {
    this.#running.add(then);
    return () => void this.#running.delete(then);
  }

  /** Waits for the calls, at most `graceMs`. Returns false if some are left. */
  async areOver(graceMs: number): Promise<boolean> {
    if (await this.#idleWithin(graceMs)) return true;
    this.#log(`${this.#these()} still running after ${graceMs} ms, and no more time is left.`);
    return false;
  }

  /** Ends each call that runs, and gives it a moment to be recorded and answered. */
  async stop(): Promise<void> {
    if (this.#running.size === 0) return;
    for (const stop of [...this.#running]) stop();
    if (await this.#idleWithin(settleMs)) return;
    this.#log(`${this.#these()} still not over after that; what ran will be unknown at the next start.`);
  }

  #these(): string {
    return this.#count === 1 ? "1 call was" : `${this.#count} calls were`;
  }

  async #idleWithin(ms: number): Promise<boolean> {
    if (this.#count === 0) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#idle = () => resolve(true);
    const cancel = this.#clock.in(ms, () => resolve(false));
    const isIdle = await promise;
    cancel();
    return isIdle;
  }
}
