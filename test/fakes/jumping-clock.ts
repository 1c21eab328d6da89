import type { Clock } from "../../packages/core/src/clock.ts";

/** A clock that jumps in the middle of a turn, as real time does between two lines. */
export class JumpingClock implements Clock {
  #now = Date.UTC(2026, 10, 20);
  readonly #waits = new Map<() => void, number>();

  now(): number {
    return this.#now;
  }
  monotonic(): number {
    return this.#now;
  }
  in(ms: number, then: () => void): () => void {
    const wait = (): void => then();
    this.#waits.set(wait, this.#now + ms);
    return () => void this.#waits.delete(wait);
  }
  jump(ms: number): void {
    this.#now += ms;
    for (const [wait, due] of [...this.#waits]) {
      if (due > this.#now) continue;
      this.#waits.delete(wait);
      wait();
    }
  }
}

/** Returns the same random numbers in every run. */
export function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}
