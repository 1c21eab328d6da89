import { type CallRecord, type Clock, isOnRecord, messageOf, type RowEnd, type ToolOutcome } from "@postern/core";
import { outcomeOf, refuse } from "../call/ending.ts";
import type { Store } from "../store/store.ts";

/** How a call ended that another process ran, such as a worker. */
export interface FoundEnd {
  readonly state: "ok" | "failed";
  readonly outcome: ToolOutcome;
}

/** Finds the end of a call that ran elsewhere. Returns undefined if it is not known. */
export type EndOf = (record: CallRecord) => Promise<FoundEnd | undefined>;

export interface RecoveryParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
  readonly endOf?: EndOf;
}

/** Recovers before any server starts; in a store that several processes share, also at each lease. */
export async function openRecovery(parts: RecoveryParts, closing: AsyncDisposableStack): Promise<void> {
  const { store, clock, endOf } = parts;
  await recover(store, clock, endOf);
  if (store.strandedEveryMs !== undefined) closing.use(recoverEvery(store.strandedEveryMs, parts));
}

/**
 * Each call that a dead process attempted and did not settle gets the end that it had elsewhere, or becomes `unknown`, with
 * its event. Held and suspended calls keep waiting.
 *
 * @returns the calls that were settled
 */
export async function recover(
  store: Store,
  clock: Clock,
  endOf: EndOf = async () => undefined,
): Promise<readonly CallRecord[]> {
  const recovered: CallRecord[] = [];
  for (const record of await store.stranded()) {
    const { call, startedAt } = record;
    const found = await endOf(record);
    const at = clock.now();
    const outcome = found?.outcome ?? lost(call.id);
    const { key, fence, image } = record;
    const state = found?.state ?? "unknown";
    const retryable = found === undefined && isOnRecord(call);
    const end: RowEnd = { state, outcome, retryable, endedAt: at, image, ...(found && { endUnseen: true }) };
    const event = {
      moment: "ended",
      at,
      call,
      as: asEnded[state],
      outcome,
      latencyMs: Math.max(0, at - (startedAt ?? at)),
      ...(outcome.refusal !== undefined && { code: outcome.refusal.code }),
      by: "recovery",
    } as const;
    const { won } = await store.commit({ write: "settle", key, fence, end, event }, "synced");
    if (won) recovered.push({ ...record, ...end });
  }
  return recovered;
}

/** Recovers calls of other processes that die while this one runs. */
function recoverEvery(ms: number, { store, clock, log, endOf }: RecoveryParts): AsyncDisposable {
  let cancel: (() => void) | undefined;
  let recovering: Promise<void> = Promise.resolve();
  let isClosed = false;
  const next = (): void => {
    if (isClosed) return;
    cancel = clock.in(
      ms,
      () => {
        recovering = recover(store, clock, endOf)
          .then(
            () => {},
            (error) => log(`Calls of a process that died could not be recovered: ${messageOf(error)}`),
          )
          .then(next);
      },
      false,
    );
  };
  next();
  return {
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      cancel?.();
      await recovering;
    },
  };
}

const asEnded = { ok: "succeeded", failed: "failed", unknown: "unknown" } as const;

function lost(callId: string): ToolOutcome {
  const message = "The process that ran it died; it may have happened. Check before you repeat it.";
  return outcomeOf(callId, refuse("outcome_unknown", message));
}
