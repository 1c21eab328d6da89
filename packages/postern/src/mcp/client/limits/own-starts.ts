import type { Clock } from "@postern/core";

/** Counts the calls that begin within a minute. */
export interface Starts {
  /** When the next call may begin, if none may now: wall clock, milliseconds. Counts nothing. */
  fullUntil(): number | undefined;
  /** Counts a call that begins now. Returns when the next one may begin if this one may not. */
  count(): number | undefined | Promise<number | undefined>;
}

export const minuteMs = 60_000;

/** Counts those of this process. */
export class OwnStarts implements Starts {
  readonly #perMinute: number;
  readonly #clock: Clock;
  /** Within the last minute, oldest first; the monotonic clock. */
  #starts: number[] = [];

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  fullUntil(): number | undefined {
    const now = this.#clock.monotonic();
    const firstIn = this.#starts.findIndex((at) => at > now - minuteMs);
    this.#starts = firstIn < 0 ? [] : this.#starts.slice(firstIn);
    const [oldest = now] = this.#starts;
    if (this.#starts.length < this.#perMinute) return undefined;
    return Math.ceil(this.#clock.now() + oldest + minuteMs - now);
  }

  count(): number | undefined {
    const fullUntil = this.fullUntil();
    if (fullUntil === undefined) this.#starts.push(this.#clock.monotonic());
    return fullUntil;
  }
}
