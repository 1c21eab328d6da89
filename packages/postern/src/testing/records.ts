/** Calls, records and writes for the tests of stores. Fields that a test does not name have defaults. */
import type {
  ApprovalRecord,
  ApprovalState,
  Authority,
  CallRecord,
  Clock,
  DurableEvent,
  StoreWrite,
  ToolCall,
  ToolOutcome,
} from "@postern/core";
import { canonical, type JsonObject } from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { SerializeEvent, StoreEntry } from "../store/store.ts";

export const hourMs = 3_600_000;
export const serializePlainly: SerializeEvent = (event) => canonical(JSON.parse(JSON.stringify(event)));

const counts = new WeakMap<Clock, number>();
export const authority: Authority = {
  principal: { tenant: "default", agent: "agent", user: "ann", via: "library" },
  scopes: ["mail:read"],
  autonomy: "A3",
  runId: "run_1",
  traceId: "0".repeat(32),
};

/** Takes the call's id from this clock, so that two stores with equal clocks get equal ids. */
export function callOf(clock: Clock, more: Partial<ToolCall> = {}): ToolCall {
  const number = (counts.get(clock) ?? 0) + 1;
  counts.set(clock, number);
  const args: JsonObject = more.arguments ?? { to: "bob", number };
  const text = canonical(args);
  return {
    id: `call_019a9e5c-0000-7000-8000-${number.toString(16).padStart(12, "0")}`,
    tool: "send_email",
    action: "default",
    text,
    digest: sha256(text),
    authority,
    arrivedAt: clock.now(),
    ...more,
    arguments: args,
  };
}

export function recordOf(call: ToolCall, more: Partial<CallRecord> = {}): CallRecord {
  return {
    key: call.id,
    match: undefined,
    call,
    state: "attempted",
    risk: "high",
    definition: "definition",
    idempotent: false,
    fence: undefined,
    approvalId: undefined,
    aliveUntil: undefined,
    startedAt: undefined,
    endedAt: undefined,
    outcome: undefined,
    retryable: false,
    image: undefined,
    ...more,
  };
}

export function approvalOf(record: CallRecord, more: Partial<ApprovalRecord> = {}): ApprovalRecord {
  const { call, key, definition, risk } = record;
  return {
    id: record.approvalId ?? `apr_${call.id}`,
    key,
    state: "pending",
    tool: call.tool,
    action: call.action,
    principal: call.authority.principal,
    runId: call.authority.runId,
    traceId: call.authority.traceId,
    asked: call.arguments,
    arguments: call.arguments,
    binding: "binding",
    definition,
    risk,
    why: [{ rule: "matrix", effect: "CONFIRM" }],
    policyVersion: "1",
    requestedAt: call.arrivedAt,
    expiresAt: record.aliveUntil ?? call.arrivedAt + hourMs,
    ...more,
  };
}

export function eventOf(type: string, at = 0): DurableEvent {
  return { moment: "noted", at, type, summary: type, traceId: "0".repeat(32), policyVersion: "p1", outcome: "info" };
}

export function outcomeOf(call: ToolCall, status: ToolOutcome["status"] = "ok", text = "sent"): ToolOutcome {
  return { status, callId: call.id, content: [{ type: "text", text }], text } as ToolOutcome; // a store reads none of it
}

export const note = (type: string): StoreWrite => ({ write: "note", event: eventOf(type) });
export function claimOf(record: CallRecord, more: { fresh?: boolean; use?: string } = {}): StoreWrite {
  return { write: "claim", record, fresh: false, ...more, event: eventOf("attempted") };
}
export function settleOf(
  record: CallRecord,
  state: CallRecord["state"],
  more: Partial<CallRecord> = {},
  by?: string,
): StoreWrite {
  const { key, fence, outcome, retryable, endedAt, image, endUnseen } = {
    ...record,
    outcome: outcomeOf(record.call),
    ...more,
  };
  return {
    write: "settle",
    key,
    fence,
    end: { state, outcome, retryable, endedAt: endedAt ?? 0, image, ...(endUnseen && { endUnseen }) },
    ...(by !== undefined && { by }),
    event: eventOf(`settled ${state}`),
  };
}
export function decideOf(approval: ApprovalRecord, state: ApprovalState, denied?: ToolOutcome): StoreWrite {
  return {
    write: "decide",
    approval: { ...approval, state },
    ...(denied && { denied }),
    event: eventOf(`decided ${state}`),
  };
}
export function holdOf(record: CallRecord, approval: ApprovalRecord): StoreWrite {
  return { write: "hold", record, approval, event: eventOf("held") };
}

export async function all(entries: AsyncIterable<StoreEntry>): Promise<StoreEntry[]> {
  const read: StoreEntry[] = [];
  for await (const entry of entries) read.push(entry);
  return read;
}
