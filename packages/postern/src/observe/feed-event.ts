import { type CallEvent, deepFrozen, isJsonObject, type Json, type JsonObject, type Principal } from "@postern/core";
import { eventIn } from "../audit/entry.ts";
import { isForeign } from "../call/authority.ts";

/**
 * One event as a live page gets it: without arguments, results and secrets.
 *
 * @public
 */
export interface FeedEvent {
  /** `1042` is entry 1042 of the audit log; `1042.3` the third event announced after it, which no log holds. */
  readonly id: string;
  /** A word of the audit log, or `tool_call.arrived`, `tool_call.progressed`, `tool_call.left`, `tool_call.emitted`. */
  readonly type: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly tenant: string;
  readonly agent: string;
  /** The user of the call's principal. */
  readonly user?: string;
  readonly traceId: string;
  readonly runId?: string | undefined;
  readonly callId?: string | undefined;
  readonly approvalId?: string | undefined;
  readonly tool?: string | undefined;
  readonly summary: string;
  /** All other fields of the entry, or a few facts of an announced event. */
  readonly data: JsonObject;
}

/**
 * What a reader may see, and what it wants.
 *
 * @public
 */
export interface FeedFilter {
  readonly tenant: string;
  /** Only this principal's calls. */
  readonly principal?: Principal | undefined;
  /** Beside calls: alarms, approvals and the switches that concern all, or the whole audit log. */
  readonly also: "nothing" | "alarms" | "everything";
  /** Exact types, or prefixes that end in `.`: `gate.`. Without it, all. */
  readonly types?: readonly string[] | undefined;
  readonly runId?: string | undefined;
  readonly traceId?: string | undefined;
}

/** Moments that are announced but not written. */
export type AnnouncedEvent = Extract<CallEvent, { readonly moment: "arrived" | "progressed" | "emitted" | "left" }>;

/** Steps of a place: so many things may be announced after one entry of the log. */
const stepsAnEntry = 1_000_000;

/** Places order the feed: an entry, then what was announced after it. Before the first entry it is -1. */
export function placeOf(seq: number, step: number): number {
  return (seq + 1) * stepsAnEntry + Math.min(step, stepsAnEntry - 1);
}

export function seqOf(place: number): number {
  return Math.floor(place / stepsAnEntry) - 1;
}

export function idOf(place: number): string {
  const step = place % stepsAnEntry;
  return step === 0 ? String(seqOf(place)) : `${seqOf(place)}.${step}`;
}

/** Returns undefined if it is no id of a feed. */
export function placeFrom(id: string): number | undefined {
  const [, seq = "", step = "0"] = /^(-1|\d{1,9})(?:\.(\d{1,6}))?$/.exec(id) ?? [];
  return seq === "" ? undefined : placeOf(Number(seq), Number(step));
}

/**
 * The entry without its hashes; it is redacted already.
 *
 * @throws TypeError if audit/entry.ts did not write it
 */
export function fromEntry(seq: number, body: string): FeedEvent {
  const entry = eventIn(body);
  if (entry === undefined) throw new TypeError(`Entry ${seq} of the log is no event.`);
  const { type, timestamp, tenant, trace_id, summary, refs, tool_name, request_hash, response_hash, ...rest } = entry;
  const { run, tool_call: call, approval, ...otherRefs } = refs;
  return deepFrozen({
    id: String(seq),
    type,
    at: timestamp,
    tenant,
    agent: entry.principal?.agent ?? "system",
    ...(entry.principal?.user !== undefined && { user: entry.principal.user }),
    traceId: trace_id,
    runId: run ?? named(rest.data, "run"),
    callId: call,
    approvalId: approval ?? named(rest.data, "approval_id"),
    tool: tool_name ?? named(rest.data, "tool"),
    summary,
    data: { ...rest, ...otherRefs } as JsonObject, // parsed from JSON
  });
}

/** A system event names its subject in its data. */
function named(data: Json | undefined, name: string): string | undefined {
  const value = isJsonObject(data) ? data[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

export interface TimedEvent {
  readonly announced: AnnouncedEvent;
  readonly place: number;
  /** Wall clock, milliseconds. */
  readonly at: number;
}

export function fromAnnounced(
  { announced: event, place, at }: TimedEvent,
  redact: (text: string) => string,
): FeedEvent {
  const { call } = event;
  const { principal, runId, traceId } = call.authority;
  const { summary, data } = announcedDetails(event, redact);
  return deepFrozen({
    id: idOf(place),
    type: `tool_call.${event.moment}`,
    at: new Date(at).toISOString(),
    tenant: principal.tenant,
    agent: principal.agent,
    ...(principal.user !== undefined && { user: principal.user }),
    traceId,
    runId,
    callId: call.id,
    tool: redact(call.tool),
    summary,
    data: { action: redact(call.action), ...data },
  });
}

function announcedDetails(
  event: AnnouncedEvent,
  redact: (text: string) => string,
): { readonly summary: string; readonly data: JsonObject } {
  const tool = redact(event.call.tool);
  switch (event.moment) {
    case "arrived":
      return { summary: `${tool} arrived`, data: {} };
    case "progressed":
      return {
        summary: redact(event.content).slice(0, 2_000),
        data: {
          ...(event.fraction !== undefined && { fraction: event.fraction }),
          ...(event.recordedAs !== undefined && { recorded_as: event.recordedAs }),
        },
      };
    case "emitted":
      return {
        summary: redact(event.summary).slice(0, 2_000),
        data: {
          emitted: redact(event.type),
          ...(event.data !== undefined && { details: redacted(event.data, redact) }),
        },
      };
    case "left": {
      const { outcome, durationMs } = event;
      const code = outcome.refusal?.code;
      return {
        summary: `${tool} left: ${outcome.status}`,
        data: { status: outcome.status, duration_ms: Math.round(durationMs * 1000) / 1000, ...(code && { code }) },
      };
    }
  }
}

function redacted(value: Json, redact: (text: string) => string): Json {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((inner: Json) => redacted(inner, redact));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redacted(inner, redact)]));
}

/** The event for a reader: whole, without details, or undefined. */
export function shownTo(event: FeedEvent, filter: FeedFilter): FeedEvent | undefined {
  const shown = filter.also === "alarms" && deciderChanges.test(event.type) ? withoutDetails(event) : event;
  return matches(shown, filter) ? shown : undefined;
}

/** A decider must know that the deciders changed. Only administrators see which account changed and how. */
function withoutDetails({ id, at, tenant, traceId }: FeedEvent): FeedEvent {
  const summary = "Who may decide has changed";
  return { id, at, tenant, traceId, type: "approval.deciders_changed", agent: "system", summary, data: {} };
}

const deciderChanges = /^operator\.action\.(?:account_\w+|token_revoked)$/;

function matches(event: FeedEvent, filter: FeedFilter): boolean {
  const { tenant, principal, also, types, runId, traceId } = filter;
  return (
    event.tenant === tenant &&
    !isForeign(event, principal) &&
    isFor(event, also) &&
    (runId === undefined || event.runId === runId) &&
    (traceId === undefined || event.traceId === traceId) &&
    (types === undefined || types.some((one) => (one.endsWith(".") ? event.type.startsWith(one) : event.type === one)))
  );
}

function isFor({ callId, type }: FeedEvent, also: FeedFilter["also"]): boolean {
  if (also === "everything" || callId !== undefined) return true;
  return also === "alarms" && (peopleEvents.test(type) || switches.test(type));
}

const peopleEvents = /^(?:alarm|approval|gate|grant)\./;
/** Everyone may know at once whether calls pass. */
const switches = /^operator\.action\.(?:pause|resume|autonomy|tool|server)$/;
