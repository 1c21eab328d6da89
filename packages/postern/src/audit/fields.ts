/** What an event says alone. What it has in common with others is in context.ts. */
import {
  canonical,
  type DurableEvent,
  endEvents,
  type Json,
  maxDepth,
  momentNames,
  type NotedEvent,
  type ToolCall,
  type ToolOutcome,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import { attemptedEnds, attemptedSummary, decisionOutcomes, endSummary, openSummary, stageOf } from "./audit-words.ts";
import type { CallPart, Clean } from "./parts.ts";

type EventAt<Moment extends DurableEvent["moment"]> = Extract<DurableEvent, { readonly moment: Moment }>;

const thousandths: readonly string[] = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, "0")}Z`);

/** ISO 8601 in UTC, the text that `Date` writes. The text of a second is made once, because many calls come in one. */
export class Timestamps {
  #second = Number.NaN;
  #prefix = "";

  /** @param at wall clock, milliseconds */
  textOf(at: number): string {
    const second = Math.floor(at / 1000);
    if (second !== this.#second) {
      this.#prefix = new Date(second * 1000).toISOString().slice(0, -4);
      this.#second = second;
    }
    return `${this.#prefix}${thousandths[Math.floor(at) - second * 1000]}`;
  }
}

/** How the part of an event is written. */
export interface Writing {
  readonly clean: Clean;
  readonly timestamp: string;
  /** Of the tool and its action, cleaned. Unused for a system event. */
  readonly name: string;
}

/** The part that an event has for itself. It holds arguments and results as hashes only. */
export function callPart(event: DurableEvent, writing: Writing): CallPart {
  switch (event.moment) {
    case "held":
      return heldPart(event, writing);
    case "decided":
      return decidedPart(event, writing);
    case "attempted":
      return attemptedPart(event, writing);
    case "ended":
      return endedPart(event, writing);
    case "noted":
      return notedPart(event, writing);
  }
}

function heldPart({ call, approvalId, expiresAt }: EventAt<"held">, { name, timestamp }: Writing): CallPart {
  return {
    data: { expires_at: new Date(expiresAt).toISOString() },
    outcome: "info",
    refs: refsOf(call, { approvalId, key: call.resumes }),
    request_hash: call.digest,
    stage: "gate",
    summary: `${name} needs a person`,
    timestamp,
    type: momentNames.held.audit,
  };
}

function decidedPart(event: EventAt<"decided">, { name, timestamp, clean }: Writing): CallPart {
  const { call, approvalId, as, by, via, reason, approved } = event;
  return {
    data: approved === undefined ? undefined : { approved_hash: approved },
    decided_by: clean(by),
    decided_via: clean(via),
    outcome: decisionOutcomes[as],
    reason: reason && clean(reason),
    refs: refsOf(call, { approvalId, key: call.resumes }),
    request_hash: call.digest,
    stage: "gate",
    summary: `${name} ${as}`,
    timestamp,
    type: `${momentNames.decided.audit}.${as}`,
  };
}

function attemptedPart(event: EventAt<"attempted">, { name, timestamp }: Writing): CallPart {
  const { call, key, approvalId, weighing } = event;
  return {
    data: call.providerItem && { provider_item: call.providerItem },
    outcome: "info",
    refs: refsOf(call, { approvalId, key, grant: weighing.grant, parentId: call.parentId }),
    request_hash: call.digest,
    stage: "execute",
    summary: attemptedSummary(name),
    timestamp,
    type: momentNames.attempted.audit,
  };
}

function endedPart(event: EventAt<"ended">, { name, timestamp, clean }: Writing): CallPart {
  const { call, as, outcome, code, approvalId, by, via, reason } = event;
  return {
    code,
    decided_by: by && clean(by),
    decided_via: via && clean(via),
    latency_ms: roundedMs(event.latencyMs),
    outcome: endEvents[as].outcome,
    payload_ref: outcome.artifact,
    reason: reason && clean(reason),
    refs: refsOf(call, { approvalId, key: event.key ?? call.resumes }),
    request_hash: attemptedEnds.has(as) ? undefined : call.digest,
    response_hash: responseHash(outcome),
    stage: stageOf(as, code),
    summary: isOpen(event) ? openSummary(name, as) : endSummary(name, as, code),
    timestamp,
    type: endEvents[as].audit,
  };
}

/** Whether this arrival ended, but not the approval request that it waited for. */
function isOpen({ as, code, outcome }: EventAt<"ended">): boolean {
  return as === "refused" ? code === "approval_timed_out" : as === "deduped" && outcome.status === "pending";
}

function notedPart({ type, summary, by, via, outcome, data }: NotedEvent, { clean, timestamp }: Writing): CallPart {
  const [stage = type] = type.split(".", 1);
  return {
    data: data === undefined ? undefined : cleanJson(data, clean, 0),
    decided_by: by && clean(by),
    decided_via: via && clean(via),
    outcome,
    refs: {},
    stage: clean(stage),
    summary: clean(summary),
    timestamp,
    type: clean(type),
  };
}

interface NamedRefs {
  readonly approvalId: string | undefined;
  readonly key: string | undefined;
  readonly grant?: string | undefined;
  readonly parentId?: string | undefined;
}

/** `key` is written if it is not the call's own id: then this is another arrival of that call. */
function refsOf(call: ToolCall, { approvalId, key, grant, parentId }: NamedRefs): CallPart["refs"] {
  const other = key === call.id ? undefined : key;
  return { approval: approvalId, grant, key: other, parent: parentId, tool_call: call.id };
}

/** Milliseconds with three decimals. Returns undefined if it is no finite number. */
function roundedMs(ms: number): number | undefined {
  return Number.isFinite(ms) ? Math.round(ms * 1000) / 1000 : undefined;
}

/** Never throws: what has no JSON must not stop a batch of other calls' events. */
function cleanJson(value: Json, clean: Clean, depth: number): Json {
  if (typeof value === "string") return clean(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxDepth - 2) return "[too deep]";
  if (Array.isArray(value)) return value.map((inner: Json) => cleanJson(inner, clean, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [clean(name), cleanJson(inner, clean, depth + 1)]),
  );
}

/**
 * SHA-256 of the returned text. If a result is more than text, of the canonical JSON of `{ content?, structured?, text }`,
 * with `content` only if a block is not text.
 */
function responseHash({ text, structured, content }: ToolOutcome): string {
  const onlyText = content.every(({ type }) => type === "text");
  if (onlyText && structured === undefined) return sha256(text);
  const whole = {
    ...(!onlyText && { content: content.map((block) => ({ ...block })) }),
    ...(structured !== undefined && { structured }),
    text,
  };
  try {
    return sha256(canonical(whole));
  } catch {
    return sha256(JSON.stringify(whole)); // half surrogates or too deep for RFC 8785: still one text for one result
  }
}
