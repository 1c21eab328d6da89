import type { CallRecord } from "../calls/records.ts";

interface LiveRow {
  readonly number: number;
  /** Wall clock, milliseconds, exclusive. */
  readonly until: number;
}

/**
 * Which calls a keyless re-send finds: `match` → keys. In memory, because plain calls ask it every time and hardly ever
 * find anything; loaded at start. Several equal calls with keys of their own may be unknown, hence several keys.
 */
export class LiveMatches {
  readonly #rows = new Map<string, Map<string, LiveRow>>();
  #sweepAt = 1024;

  get size(): number {
    return this.#rows.size;
  }

  /** The earliest of the live calls. */
  find(match: string, now: () => number, except?: ReadonlySet<string>): string | undefined {
    if (this.#rows.size === 0) return undefined;
    const keys = this.#rows.get(match);
    if (keys === undefined) return undefined;
    const time = now();
    let found: string | undefined;
    let lowest = Infinity;
    for (const [key, { number, until }] of keys) {
      if (until <= time || number >= lowest || except?.has(key) === true) continue;
      found = key;
      lowest = number;
    }
    return found;
  }

  /** A row became another; either may be none. */
  moved(before: CallRecord | undefined, after: CallRecord | undefined, now: () => number): void {
    const until = after === undefined ? -Infinity : liveUntil(after);
    const wasLive = before !== undefined && liveUntil(before) !== -Infinity;
    if (wasLive && (until === -Infinity || before.match !== after?.match)) this.#remove(before);
    if (after?.match === undefined || until === -Infinity) return;
    let keys = this.#rows.get(after.match);
    if (keys === undefined) {
      if (this.#rows.size >= this.#sweepAt) this.#sweep(now());
      keys = new Map();
      this.#rows.set(after.match, keys);
    }
    keys.set(after.key, { number: after.call.number, until });
  }

  #remove({ match, key }: CallRecord): void {
    if (match === undefined) return;
    const keys = this.#rows.get(match);
    if (keys?.delete(key) === true && keys.size === 0) this.#rows.delete(match);
  }

  /** What is over is not found anyway; this only gives its memory back. */
  #sweep(now: number): void {
    for (const [match, keys] of this.#rows) {
      for (const [key, { until }] of keys) if (until <= now) keys.delete(key);
      if (keys.size === 0) this.#rows.delete(match);
    }
    this.#sweepAt = Math.max(1024, this.#rows.size * 2);
  }
}

/**
 * Until when (wall clock, exclusive) a re-send without a key finds the row; `-Infinity`: it does not. A row of a call with
 * a key is found only while it has begun and nobody knows its end, because a second run could double its effect.
 */
export function liveUntil(record: CallRecord): number {
  const { match, state, aliveUntil, call } = record;
  if (match === undefined) return -Infinity;
  if (mayHaveBegun(record)) return Infinity;
  if (call.idempotencyKey !== undefined) return -Infinity;
  return aliveUntil ?? (state === "held" ? Infinity : -Infinity);
}

/** Something of it was done, and nobody knows its end. */
export function mayHaveBegun({ state, idempotent }: CallRecord): boolean {
  return state === "suspended" || (!idempotent && (state === "attempted" || state === "unknown"));
}
