import {
  type Actor,
  asSentence,
  type CallRecord,
  type Clock,
  deepFrozen,
  type EndName,
  type RowEnd,
  type ToolOutcome,
} from "@postern/core";
import { outcomeOf, refuse } from "../call/ending.ts";
import type { Store } from "../store/store.ts";

/** The result for an `unknown` call: it succeeded, it failed, or it may be run again. */
export type SettlementOutcome = "succeeded" | "failed" | "retry";

/** Who settles the call, how, and why. */
export interface SettlementRequest {
  readonly settledAs: SettlementOutcome;
  readonly by: Actor;
  readonly reason: string;
  /** The answer of the call, if the tool found it. */
  readonly outcome?: ToolOutcome | undefined;
}

/**
 * Settles an `unknown` row for an operator or for the tool's reconcile hook. Without an answer from the hook, the
 * outcome names who settled the call.
 *
 * @returns the row as it is now, and whether this call settled it
 */
export async function settleUnknown(
  record: CallRecord,
  request: SettlementRequest,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
): Promise<{ readonly won: boolean; readonly call: CallRecord }> {
  const { settledAs, reason } = request;
  const { by, via } = request.by;
  const at = clock.now();
  const outcome = deepFrozen(request.outcome ?? outcomeFor(record, request));
  const states = { succeeded: "ok", failed: "failed", retry: "unknown" } as const;
  const { key, fence, image } = record;
  const retryable = settledAs === "retry";
  const end: RowEnd = { state: states[settledAs], outcome, retryable, endedAt: at, endUnseen: true, image };
  const as: EndName = "settled";
  const event = {
    moment: "ended",
    at,
    call: record.call,
    as,
    outcome,
    latencyMs: 0,
    ...{ by, via, reason: `${settledAs}: ${reason}` },
  } as const;
  const committed = await store.commit({ write: "settle", key, fence, end, by, event }, "synced");
  return committed.won ? { won: true, call: { ...record, ...end } } : { won: false, call: committed.call ?? record };
}

function outcomeFor({ call }: CallRecord, { settledAs, by: { by }, reason }: SettlementRequest): ToolOutcome {
  const text = `Settled by ${by} as ${settledAs}: ${asSentence(reason)}`;
  if (settledAs === "succeeded") return { status: "ok", callId: call.id, content: [{ type: "text", text }], text };
  return outcomeOf(call.id, refuse(settledAs === "failed" ? "tool_failed" : "outcome_unknown", text));
}
