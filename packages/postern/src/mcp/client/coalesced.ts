import type { Clock } from "@postern/core";

/** Changes are told at most this often. */
const everyMs = 200;

/** Tells the first change at once, and those of the time after it together. */
export class Coalesced {
  readonly #clock: Clock;
  readonly #tell: () => void;
  #isStale = false;
  #endPause: (() => void) | undefined;

  constructor(clock: Clock, tell: () => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  changed(): void {
    this.#isStale = true;
    if (this.#endPause === undefined) this.#now();
  }

  close(): void {
    this.#endPause?.();
    this.#isStale = false;
  }

  #now(): void {
    this.#isStale = false;
    this.#endPause = this.#clock.in(
      everyMs,
      () => {
        this.#endPause = undefined;
        if (this.#isStale) this.#now();
      },
      false,
    );
    this.#tell();
  }
}
