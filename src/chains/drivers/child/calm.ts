import type { Clock } from "../../../calls/clock.ts";

/** Most scripts are through by then. */
const lookEveryMs = 50;
/** Of the loop's time: beyond it there are others who would wait. */
const mostBusy = 0.5;
const longestPostponedMs = 2_000;

/**
 * For what holds the loop up and nobody waits for: once the loop had time to spare, and in the end all the same.
 *
 * Why: a start copies the page tables of its host before anything runs, which was measured as 4 ms of the loop at 165 MB and
 * 9 at 365, and then waits for a processor, of which a busy host has none to spare.
 *
 * @param share of its time that the loop was busy since it was last asked
 * @returns takes it back
 */
export function whenCalm(clock: Clock, then: () => void, share: () => number = shareOfLoop()): () => void {
  const begun = clock.monotonic();
  const wait = (): (() => void) =>
    clock.in(
      lookEveryMs,
      () => {
        if (share() > mostBusy && clock.monotonic() - begun < longestPostponedMs) forget = wait();
        else then();
      },
      false,
    );
  let forget = wait();
  return () => forget();
}

function shareOfLoop(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
