/**
 * Runs a model's batch of calls (case 265): neighbours that are safe to run together do, every other call runs alone.
 * Results keep the order of the calls; nothing overtakes a call that runs alone.
 *
 * Contract: a rejection of `invokeOne` (the caller's own cancellation) ends the batch after its neighbours have ended.
 */
export async function runBatch<Call, Result>(
  calls: readonly Call[],
  invokeOne: (call: Call) => Promise<Result>,
  concurrencySafe: (call: Call) => boolean,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  while (next < calls.length) {
    const together = take(calls, next, concurrencySafe);
    next += together.length;
    for (const ended of await Promise.allSettled(together.map(async (call) => invokeOne(call)))) {
      if (ended.status === "rejected") throw ended.reason;
      results.push(ended.value);
    }
  }
  return results;
}

/** At least one call, or as many as may run together. */
function take<Call>(calls: readonly Call[], from: number, concurrencySafe: (call: Call) => boolean): readonly Call[] {
  let end = from;
  while (end < calls.length && concurrencySafe(calls[end] as Call)) end += 1; // within bounds
  return calls.slice(from, Math.max(end, from + 1));
}
