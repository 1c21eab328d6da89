import type { Clock } from "../../calls/clock.ts";

/**
 * Counts wrong tokens by address, ten a second, after which the answer is "slow down".
 *
 * A right token is never refused here: on one machine all share an address, and a stray client must not lock out the
 * others. What keeps a token from being guessed is its 256 bits; this keeps the log and the processor quiet.
 */
export class FailedAttempts {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #second = -1;
  readonly #counts = new Map<string, number>();

  constructor(clock: Clock, perSecond = 10) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** Counts one more; true when it is one too many. */
  isTooMany(address: string): boolean {
    const second = Math.floor(this.#clock.monotonic() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#counts.clear(); // so the map holds the addresses of one second at most
    }
    const count = (this.#counts.get(address) ?? 0) + 1;
    this.#counts.set(address, count);
    return count > this.#perSecond;
  }
}
