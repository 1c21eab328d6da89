/** A sum, a count and the counts of each bucket. The bucket of a time is the first whose bound is not below it. */
export class Timings {
  /** Upper bounds of the buckets, in seconds, smallest first. One more bucket holds what is above the last. */
  readonly bounds: readonly number[];
  /** One number for each bound, and one for the rest. */
  readonly counts: Float64Array;
  sumSeconds = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  add(milliseconds: number): void {
    const seconds = milliseconds / 1000;
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    this.sumSeconds += seconds;
    this.count += 1;
  }
}
