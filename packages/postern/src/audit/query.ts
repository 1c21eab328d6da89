import { checkMembers, type Kind } from "@postern/core";
import type { Store, StoreEntry } from "../store/store.ts";
import { eventIn } from "./entry.ts";
import type { AuditEvent, AuditFilter, LatestFilter, LatestPage } from "./log.ts";
import { type EntrySpan, type Times, timeOf } from "./times.ts";

const queryLimit = 200;
const latestLimit = 100;
/** Read at once, old to new, because stores read that way. */
const readAtOnce = 512;
/** A page is returned short after so many entries, so that its reader never waits long. */
const mostRead = 8_192;

const members: Readonly<Record<keyof AuditFilter | keyof LatestFilter, Kind>> = {
  traceId: "a text",
  type: "a text or a list of texts",
  tool: "a text",
  outcome: "a text",
  tenant: "a text",
  callId: "an id or a list of ids",
  runId: "a text",
  agent: "a text",
  by: "a text",
  text: "a text",
  since: "a number",
  until: "a number",
  after: "a number",
  before: "a number",
  limit: "a whole number from 0",
};

export interface QueriedLog {
  readonly store: Pick<Store, "events">;
  readonly times: Times;
  /** The log's part of an audit id. */
  readonly keyId: string;
  /** How many entries there are. */
  readonly size: number;
}

/**
 * The events that match, oldest first. Without a filter, the first ones after `after`.
 *
 * @throws RuntimeFault `request_invalid` that names the member and the value
 */
export async function queryEvents(log: QueriedLog, where: AuditFilter): Promise<readonly AuditEvent[]> {
  const wanted = wantedBy(log.keyId, where);
  const { after = -1, limit = queryLimit } = where;
  const found: AuditEvent[] = [];
  if (limit <= 0) return found;
  for await (const { seq, body } of entriesIn(await log.times.spans(log.size, where), after, log.store)) {
    const event = wanted(seq, body);
    if (event === undefined) continue;
    found.push(event);
    if (found.length >= limit) break;
  }
  return found;
}

async function* entriesIn(
  spans: readonly EntrySpan[],
  after: number,
  store: QueriedLog["store"],
): AsyncGenerator<StoreEntry> {
  for (const { first, end } of spans) {
    const from = Math.max(after, first - 1);
    const limit = end - 1 - from;
    if (limit > 0) yield* store.events(Number.isFinite(limit) ? { after: from, limit } : { after: from });
  }
}

/**
 * The events that match, newest first.
 *
 * @throws RuntimeFault `request_invalid` that names the member and the value
 */
export async function latestEvents(log: QueriedLog, where: LatestFilter): Promise<LatestPage> {
  const wanted = wantedBy(log.keyId, where);
  const { before = log.size, limit = latestLimit } = where;
  const events: AuditEvent[] = [];
  let left = mostRead;
  for (const span of (await log.times.spans(log.size, where)).toReversed()) {
    let next = Math.min(before, log.size, span.end);
    while (next > span.first) {
      if (left <= 0) return { events, nextBefore: next };
      const first = Math.max(span.first, next - readAtOnce);
      const bodies: string[] = [];
      for await (const { body } of log.store.events({ after: first - 1, limit: next - first })) bodies.push(body);
      left -= next - first;
      for (const body of bodies.reverse()) {
        next -= 1;
        const event = wanted(next, body);
        if (event === undefined) continue;
        events.push(event);
        if (events.length >= limit) return next === 0 ? { events } : { events, nextBefore: next };
      }
      next = first;
    }
  }
  return { events };
}

/** Returns undefined for an entry that does not match. Most of these are not parsed. */
function wantedBy(keyId: string, where: AuditFilter): (seq: number, body: string) => AuditEvent | undefined {
  checkMembers(where, { code: "request_invalid", what: "The filter", members, of: "events" });
  const needles = needlesOf(where);
  const calls = where.callId === undefined ? undefined : [where.callId].flat();
  const types = where.type === undefined ? undefined : [where.type].flat();
  const anyOf = [calls?.map((id) => JSON.stringify(id)), types?.map(typeNeedle)].filter((some) => some !== undefined);
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = where;
  const isTimed = where.since !== undefined || where.until !== undefined;
  return (seq, body) => {
    if (isTimed) {
      const at = timeOf(body);
      if (!(at >= since && at <= until)) return undefined;
    }
    if (!needles.every((needle) => body.includes(needle))) return undefined;
    if (!anyOf.every((some) => some.some((needle) => body.includes(needle)))) return undefined;
    const event = readable(keyId, seq, body);
    return event !== undefined && matches(event, where, { calls, types }) ? event : undefined;
  };
}

/** Returns undefined for an entry that entry.ts did not write: `verify` names it, and the others stay readable. */
function readable(keyId: string, seq: number, body: string): AuditEvent | undefined {
  const fields = eventIn(body);
  return fields && { audit_id: `evt_${keyId}_${seq}`, seq, ...fields };
}

/** Texts that a matching body holds. Another body may hold them in its `data`, so `matches` decides. */
function needlesOf(where: AuditFilter): readonly string[] {
  const { traceId, tool, outcome, tenant, runId, agent, by, text } = where;
  const fields = { trace_id: traceId, tool_name: tool, outcome, tenant, run: runId, agent, decided_by: by };
  const needles = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`"${name}":${JSON.stringify(value)}`],
  );
  if (text !== undefined) needles.push(JSON.stringify(text).slice(1, -1));
  return needles;
}

function typeNeedle(type: string): string {
  const needle = `"type":${JSON.stringify(type)}`;
  return type.endsWith(".") ? needle.slice(0, -1) : needle;
}

function matches(
  { type, refs, principal, trace_id, tool_name, outcome, tenant, decided_by }: AuditEvent,
  where: AuditFilter,
  { calls, types }: { readonly calls: readonly string[] | undefined; readonly types: readonly string[] | undefined },
): boolean {
  const pairs = [
    [where.traceId, trace_id],
    [where.tool, tool_name],
    [where.outcome, outcome],
    [where.tenant, tenant],
    [where.runId, refs.run],
    [where.agent, principal?.agent],
    [where.by, decided_by],
  ];
  return (
    pairs.every(([wanted, found]) => wanted === undefined || wanted === found) &&
    (types === undefined || types.some((one) => (one.endsWith(".") ? type.startsWith(one) : type === one))) &&
    (calls === undefined || calls.some((id) => id === refs.tool_call || id === refs.key))
  );
}
