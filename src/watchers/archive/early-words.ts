import type { Spelled } from "./spell.ts";

/** So many flushes long. */
const patience = 2;

/**
 * What tools said before the start of their call was announced: a claim that is only queued is told after it was committed.
 * It waits for that start, or, when none comes (a preview), not for long.
 */
export class EarlyWords {
  readonly #waiting: Map<string, { readonly said: Spelled[]; flushes: number }> = new Map();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(callId: string, said: Spelled): void {
    const early = this.#waiting.get(callId) ?? { said: [], flushes: 0 };
    early.said.push(said);
    this.#waiting.set(callId, early);
  }

  take(callId: string): readonly Spelled[] {
    const early = this.#waiting.get(callId);
    this.#waiting.delete(callId);
    return early?.said ?? [];
  }

  /** Calls that have waited long enough; all of them at the end. */
  due(isLast: boolean): readonly string[] {
    const due: string[] = [];
    for (const [callId, early] of this.#waiting) {
      early.flushes += 1;
      if (early.flushes >= patience || isLast) due.push(callId);
    }
    return due;
  }
}
