import { Timings } from "../system/timings.ts";

/** Seconds: from a transaction in memory of the system to a disk that hardly answers. */
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5] as const;

/** Where a store counts how long its transactions take. */
export function commitTimings(): Timings {
  return new Timings(bounds);
}
