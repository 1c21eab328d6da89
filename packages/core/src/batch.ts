import { RuntimeFault } from "./fault.ts";
import { isRecord } from "./json.ts";

/**
 * Runs a batch of calls. Neighbours that are safe to run together do; every other call runs alone. Results keep the order of
 * the calls, and no call overtakes one that runs alone.
 *
 * Contract: a rejection of `invokeOne` (the caller's own cancellation) ends the batch after its neighbours have ended.
 *
 * @throws RuntimeFault `request_invalid` before anything ran, when it is no list of requests
 */
export async function runBatch<Call extends object, Result>(
  calls: readonly Call[],
  concurrencySafe: (call: Call) => boolean,
  invokeOne: (call: Call) => Promise<Result>,
): Promise<readonly Result[]> {
  checkBatch(calls);
  const results: Result[] = [];
  let next = 0;
  while (next < calls.length) {
    const together = nextBatch(calls, next, concurrencySafe);
    next += together.length;
    for (const ended of await Promise.allSettled(together.map(async (call) => invokeOne(call)))) {
      if (ended.status === "rejected") throw ended.reason;
      results.push(ended.value);
    }
  }
  return results;
}

/** At least one call, or as many as may run together. */
function nextBatch<Call>(
  calls: readonly Call[],
  from: number,
  concurrencySafe: (call: Call) => boolean,
): readonly Call[] {
  let end = from;
  while (end < calls.length && concurrencySafe(calls[end] as Call)) end += 1; // within bounds
  return calls.slice(from, Math.max(end, from + 1));
}

function checkBatch(calls: unknown): void {
  const wrong = Array.isArray(calls) ? calls.findIndex((call) => !isRecord(call)) : undefined;
  if (wrong === -1) return;
  const which = wrong === undefined ? "The batch is not a list" : `Request ${wrong} of the batch is not an object`;
  throw new RuntimeFault(
    "request_invalid",
    `${which}; it must be a list of { tool, action?, arguments? }. Nothing ran.`,
  );
}
