import type { Clock } from "../../src/core/clock.ts";

interface Waiter {
  readonly due: number;
  readonly then: () => void;
}

/** Time that moves only when a test says so. */
export class FakeClock implements Clock {
  readonly #startMs: number;
  #passedMs = 0;
  readonly #waiters = new Set<Waiter>();

  constructor(startMs: number = Date.UTC(2026, 10, 20)) {
    this.#startMs = startMs;
  }

  now(): number {
    return Math.floor(this.#startMs + this.#passedMs);
  }

  monotonic(): number {
    return this.#passedMs;
  }

  in(ms: number, then: () => void): () => void {
    const waiter: Waiter = { due: this.#passedMs + Math.max(0, ms), then };
    this.#waiters.add(waiter);
    return () => void this.#waiters.delete(waiter);
  }

  /** How many waits are open: a test for leaks. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Moves time and runs what comes due on the way, in order; promises settle between two of them. */
  async advance(ms: number): Promise<void> {
    const until = this.#passedMs + ms;
    await settled();
    for (;;) {
      const next = [...this.#waiters].filter(({ due }) => due <= until).sort((a, b) => a.due - b.due)[0];
      if (next === undefined) break;
      this.#waiters.delete(next);
      this.#passedMs = Math.max(this.#passedMs, next.due);
      next.then();
      await settled();
    }
    this.#passedMs = until;
    await settled();
  }
}

/** Everything that can go on without time has gone on: a few turns of the event loop. */
export async function settled(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
