import { setImmediate } from "node:timers/promises";
import type { Store } from "../store/store.ts";

/** Entries `first` up to, but not with, `end`. */
export interface EntrySpan {
  readonly first: number;
  readonly end: number;
}

/** Of so many entries one is looked at. */
const stretch = 512;
/** Entries stand in the order in which they were committed, a little beside that of their times. */
const slackMs = 10_000;
const looksATurn = 16;
const field = ',"timestamp":"';
const spelled = "2026-11-20T00:00:00.000Z".length;

/**
 * Where in the log a time is to be looked for, from the time of every 512th entry: 8 bytes each, read once.
 *
 * A clock that was set back or forward is no trouble: every stretch is judged by its own two ends, and read where the
 * second is before the first. Left out is only what a clock stamped that was wrong for fewer than 512 entries, by more
 * than its neighbours differ.
 */
export class Times {
  readonly #store: Pick<Store, "events">;
  /** NaN: that entry says none, somebody changed it. */
  readonly #looks: number[] = [];
  #reading: Promise<unknown> = Promise.resolve();

  constructor(store: Pick<Store, "events">) {
    this.#store = store;
  }

  /** In their order, none beside another. The last may be open: entries are added while it is read. */
  async spans(
    size: number,
    { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY }: { since?: number; until?: number },
  ): Promise<readonly EntrySpan[]> {
    if (since === Number.NEGATIVE_INFINITY && until === Number.POSITIVE_INFINITY) return everything;
    const read = this.#reading.then(() => this.#extend(size));
    this.#reading = read.catch(() => undefined); // whoever asked is told; the next one may work
    await read;
    const spans: EntrySpan[] = [];
    for (const [i, from] of this.#looks.entries()) {
      const to = this.#looks[i + 1] ?? Number.POSITIVE_INFINITY;
      const wentBack = to < from - slackMs; // somewhere in it, from nobody knows what
      if (!wentBack && (Math.max(from, to) + slackMs < since || Math.min(from, to) - slackMs > until)) continue;
      const end = i === this.#looks.length - 1 ? Number.POSITIVE_INFINITY : (i + 1) * stretch;
      const before = spans.at(-1)?.end === i * stretch ? spans.pop() : undefined;
      spans.push({ first: before?.first ?? i * stretch, end });
    }
    return spans;
  }

  async #extend(size: number): Promise<void> {
    while (this.#looks.length * stretch < size) {
      const seq = this.#looks.length * stretch;
      let at = Number.NaN;
      for await (const entry of this.#store.events({ after: seq - 1, limit: 1 }))
        if (entry.seq === seq) at = timeOf(entry.body);
      this.#looks.push(at);
      if (this.#looks.length % looksATurn === 0) await setImmediate();
    }
  }
}

const everything: readonly EntrySpan[] = [{ first: 0, end: Number.POSITIVE_INFINITY }];

/** Without reading all of it. Its keys are in order, so that nothing after this one holds more than text. */
export function timeOf(body: string): number {
  const at = body.lastIndexOf(field);
  return at < 0 ? Number.NaN : Date.parse(body.slice(at + field.length, at + field.length + spelled));
}
