import { type CallRecord, type Clock, isOnRecord, type RowEnd } from "@postern/core";
import { outcomeOf, refuse } from "../call/ending.ts";
import type { Store } from "../store/store.ts";

/**
 * Runs before any server starts: each call that a dead process attempted and did not settle becomes `unknown`, with its
 * event. Held and suspended calls keep waiting.
 *
 * @returns the calls that became unknown
 */
export async function recover(store: Store, clock: Clock): Promise<readonly CallRecord[]> {
  const recovered: CallRecord[] = [];
  for (const record of await store.stranded()) {
    const { call, startedAt } = record;
    const at = clock.now();
    const outcome = outcomeOf(
      call.id,
      refuse("outcome_unknown", "The process that ran it died; it may have happened. Check before you repeat it."),
    );
    const { key, fence, image } = record;
    const end: RowEnd = { state: "unknown", outcome, retryable: isOnRecord(call), endedAt: at, image };
    const event = {
      moment: "ended",
      at,
      call,
      as: "unknown",
      outcome,
      latencyMs: Math.max(0, at - (startedAt ?? at)),
      code: "outcome_unknown",
      by: "recovery",
    } as const;
    const { won } = await store.commit({ write: "settle", key, fence, end, event }, "synced");
    if (won) recovered.push({ ...record, ...end });
  }
  return recovered;
}
