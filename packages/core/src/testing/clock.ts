import type { Clock } from "../clock.ts";

interface DueTimer {
  readonly due: number;
  readonly then: () => void;
}

/** A clock that moves only when a test advances it. */
export class FakeClock implements Clock {
  readonly #startMs: number;
  #passedMs = 0;
  readonly #timers = new Set<DueTimer>();

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
    const timer: DueTimer = { due: this.#passedMs + Math.max(0, ms), then };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** The number of open waits, to find leaks. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Advances the time and runs due timers in order; promises settle between two of them. */
  async advance(ms: number): Promise<void> {
    const until = this.#passedMs + ms;
    await settled();
    for (;;) {
      const next = [...this.#timers].filter(({ due }) => due <= until).sort((a, b) => a.due - b.due)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#passedMs = Math.max(this.#passedMs, next.due);
      next.then();
      await settled();
    }
    this.#passedMs = until;
    await settled();
  }
}

/** A test with a store behind a socket sets it: `settled` then also waits for the answers of that store. */
export const settling: { isBusy: () => boolean } = { isBusy: () => false };

/** Waits a few turns of the event loop in which nothing is awaited from outside, so that all work that needs no time is done. */
export async function settled(turns = 5): Promise<void> {
  for (let quiet = 0; quiet < turns; quiet += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (; settling.isBusy(); quiet = 0) await new Promise<void>((resolve) => setTimeout(resolve, 1));
  }
}
