import type { Clock } from "../calls/clock.ts";

/** Milliseconds of a turn of the loop that a script's calls may take before others have theirs. */
const longestTurnMs = 0.25;
/** So many calls are answered as fast as they come: most scripts have no more. */
const unhurried = 50;
/** Turns that others have after each batch of a script which goes on calling. */
const turnsBetween = 4;

/**
 * A script's share of the loop. A tool that answers at once makes a call that waits for nothing, so nobody else would have a
 * turn before the last of a thousand; and every call wakes the sandbox's process, on a processor somebody else computes on.
 * On an idle loop a turn is over in microseconds.
 */
export class Pace {
  readonly #clock: Clock;
  #turnBegan: number;
  #calls = 0;
  #others: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turnBegan = clock.monotonic();
  }

  /** What was heard came in a turn of its own. */
  heard(): void {
    this.#turnBegan = this.#clock.monotonic();
  }

  /** Before a call. */
  async beforeCall(): Promise<void> {
    this.#calls += 1;
    await this.beforeMore();
  }

  /** Before anything that may take long. */
  async beforeMore(): Promise<void> {
    while (this.#clock.monotonic() - this.#turnBegan > longestTurnMs) await this.#turn();
  }

  /** Before a batch's answers go back, and the next one comes. */
  async afterBatch(): Promise<void> {
    if (this.#calls > unhurried) for (let turn = 0; turn < turnsBetween; turn++) await this.#turn();
  }

  /** One for all calls that wait: they go on in their order. */
  #turn(): Promise<void> {
    this.#others ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#others = undefined;
        this.#turnBegan = this.#clock.monotonic();
        resolve();
      });
    });
    return this.#others;
  }
}
