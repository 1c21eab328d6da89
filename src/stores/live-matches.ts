import type { CallRecord } from "../calls/records.ts";

interface LiveRow {
  readonly key: string;
  readonly number: number;
  /** Wall clock, milliseconds, exclusive. */
  readonly until: number;
}

/**
 * Which calls a keyless re-send finds: `match` → rows. In memory, because plain calls ask it every time and hardly ever
 * find anything; loaded at start. Several equal calls with keys of their own may be unknown, hence several rows.
 */
export class LiveMatches {
  readonly #rows = new Map<string, readonly LiveRow[]>();
  #sweepAt = 1024;

  get size(): number {
    return this.#rows.size;
  }

  /** The earliest of the live calls. */
  find(match: string, now: () => number, except?: ReadonlySet<string>): string | undefined {
    if (this.#rows.size === 0) return undefined;
    const rows = this.#rows.get(match);
    if (rows === undefined) return undefined;
    const time = now();
    let found: LiveRow | undefined;
    for (const row of rows) {
      if (row.until <= time || except?.has(row.key) === true) continue;
      if (found === undefined || row.number < found.number) found = row;
    }
    return found?.key;
  }

  /** A row became another; either may be none. */
  moved(before: CallRecord | undefined, after: CallRecord | undefined, now: () => number): void {
    if (before !== undefined && liveUntil(before) !== -Infinity) this.#remove(before);
    const until = after === undefined ? -Infinity : liveUntil(after);
    if (after?.match === undefined || until === -Infinity) return;
    const { match, key, call } = after;
    const others = this.#rows.get(match)?.filter((row) => row.key !== key) ?? none;
    if (others.length === 0 && this.#rows.size >= this.#sweepAt) this.#sweep(now());
    this.#rows.set(match, [...others, { key, number: call.number, until }]);
  }

  #remove({ match, key }: CallRecord): void {
    if (match === undefined) return;
    const left = this.#rows.get(match)?.filter((row) => row.key !== key) ?? none;
    if (left.length === 0) this.#rows.delete(match);
    else this.#rows.set(match, left);
  }

  /** What is over is not found anyway; this only gives its memory back. */
  #sweep(now: number): void {
    for (const [match, rows] of this.#rows) {
      const left = rows.filter(({ until }) => until > now);
      if (left.length === 0) this.#rows.delete(match);
      else this.#rows.set(match, left);
    }
    this.#sweepAt = Math.max(1024, this.#rows.size * 2);
  }
}

const none: readonly LiveRow[] = [];

/**
 * Until when (wall clock, exclusive) a re-send without a key finds the row; `-Infinity`: it does not. A row of a call with
 * a key is found only while it has begun and nobody knows its end, because a second run could double its effect.
 */
export function liveUntil(record: CallRecord): number {
  const { match, state, aliveUntil, call } = record;
  if (match === undefined) return -Infinity;
  if (mayHaveBegun(record)) return Infinity;
  if (call.idempotencyKey !== undefined) return -Infinity;
  // The model has read this result: by a new id it means a new call.
  if (call.toolCallId !== undefined && (state === "ok" || state === "failed")) return -Infinity;
  return aliveUntil ?? (state === "held" ? Infinity : -Infinity);
}

/** Something of it was done, and nobody knows its end. */
export function mayHaveBegun({ state, idempotent }: CallRecord): boolean {
  return state === "suspended" || (!idempotent && (state === "attempted" || state === "unknown"));
}
