import { setImmediate } from "node:timers/promises";
import type { Store } from "../store/store.ts";

/** Entries `first` up to, but not with, `end`. */
export interface EntrySpan {
  readonly first: number;
  readonly end: number;
}

/** One of so many entries is read. */
const stretch = 512;
/** Entries are in the order of their commits, which can differ a little from the order of their times. */
const slackMs = 10_000;
const samplesATurn = 16;
const field = ',"timestamp":"';
const timeLength = "2026-11-20T00:00:00.000Z".length;

/**
 * Finds the part of the log that has a time, by the time of every 512th entry: 8 bytes each, read once.
 *
 * It works if the clock was set back or forward: each stretch is judged by its own two ends, and always read if the second
 * is before the first. It misses only entries of a clock that was wrong for fewer than 512 entries.
 */
export class Times {
  readonly #store: Pick<Store, "events">;
  /** NaN if that entry was changed and has no time. */
  readonly #samples: number[] = [];
  #reading: Promise<unknown> = Promise.resolve();

  constructor(store: Pick<Store, "events">) {
    this.#store = store;
  }

  /** In order; adjacent ones are joined. The last may be open, because entries are added while it is read. */
  async spans(
    size: number,
    { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY }: { since?: number; until?: number },
  ): Promise<readonly EntrySpan[]> {
    if (since === Number.NEGATIVE_INFINITY && until === Number.POSITIVE_INFINITY) return everything;
    const read = this.#reading.then(() => this.#extend(size));
    this.#reading = read.catch(() => undefined); // the caller gets the error; the next one may work
    await read;
    const spans: EntrySpan[] = [];
    for (const [i, from] of this.#samples.entries()) {
      const to = this.#samples[i + 1] ?? Number.POSITIVE_INFINITY;
      const wentBack = to < from - slackMs; // the clock was set back within it
      if (!wentBack && (Math.max(from, to) + slackMs < since || Math.min(from, to) - slackMs > until)) continue;
      const end = i === this.#samples.length - 1 ? Number.POSITIVE_INFINITY : (i + 1) * stretch;
      const before = spans.at(-1)?.end === i * stretch ? spans.pop() : undefined;
      spans.push({ first: before?.first ?? i * stretch, end });
    }
    return spans;
  }

  async #extend(size: number): Promise<void> {
    while (this.#samples.length * stretch < size) {
      const seq = this.#samples.length * stretch;
      let at = Number.NaN;
      for await (const entry of this.#store.events({ after: seq - 1, limit: 1 }))
        if (entry.seq === seq) at = timeOf(entry.body);
      this.#samples.push(at);
      if (this.#samples.length % samplesATurn === 0) await setImmediate();
    }
  }
}

const everything: readonly EntrySpan[] = [{ first: 0, end: Number.POSITIVE_INFINITY }];

/** Reads the time without parsing the entry. Keys are in order, and no member that others named follows this one. */
export function timeOf(body: string): number {
  const at = body.lastIndexOf(field);
  return at < 0 ? Number.NaN : Date.parse(body.slice(at + field.length, at + field.length + timeLength));
}
