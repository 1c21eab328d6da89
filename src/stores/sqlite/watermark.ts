import type { CallRecord } from "../../calls/records.ts";
import type { Batch } from "./batch.ts";

/** Rows that start-up may have to read after a crash. */
const stretch = 10_000;

/**
 * The row number below which no call is attempted: where start-up begins to look for what a crash left open. Instead of
 * an index over open rows, which would cost every call two changes of it.
 */
export class Watermark {
  #value: number;
  #highest: number;
  #triedAt: number;

  constructor(value: number, highest: number) {
    this.#value = value;
    this.#highest = highest;
    this.#triedAt = value;
  }

  /** The value that must be written with this batch, if it is another. `open`: what is attempted before the batch. */
  next({ calls }: Batch, open: ReadonlyMap<string, CallRecord>): number | undefined {
    let lowest = Infinity;
    for (const { record } of calls) {
      const { number } = record.call;
      if (number > this.#highest) this.#highest = number;
      if (record.state === "attempted" && number < lowest) lowest = number;
    }
    if (lowest < this.#value) return lowest; // an older call went on: held, suspended, retried
    if (this.#highest - this.#triedAt < stretch) return undefined;
    this.#triedAt = this.#highest;
    for (const { call } of open.values()) lowest = Math.min(lowest, call.number);
    const value = Math.min(lowest, this.#highest + 1);
    return value > this.#value ? value : undefined;
  }

  written(value: number): void {
    this.#value = value;
  }
}
