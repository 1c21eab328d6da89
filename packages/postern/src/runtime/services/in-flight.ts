import type { CallEvent, Clock } from "@postern/core";

/** Counts the calls between `arrived` and `left`. Closing waits for them. */
export class InFlight {
  readonly #clock: Clock;
  readonly #log: (problem: string) => void;
  #count = 0;
  #idle: (() => void) | undefined;

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

  async drained(graceMs: number): Promise<void> {
    if (this.#count === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle = resolve;
    const cancel = this.#clock.in(graceMs, () => {
      const one = this.#count === 1;
      this.#log(
        `${one ? "1 call was" : `${this.#count} calls were`} still running after ${graceMs} ms; ${one ? "it" : "they"} will be unknown at the next start.`,
      );
      resolve();
    });
    await promise;
    cancel();
  }
}
