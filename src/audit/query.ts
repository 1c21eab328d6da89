import type { Store, StoreEntry } from "../store/store.ts";
import type { AuditEvent, AuditFilter } from "./log.ts";
import { type EntrySpan, type Times, timeOf } from "./times.ts";

const defaultLimit = 200;

/** A log as it is asked. */
export interface QueriedLog {
  readonly store: Pick<Store, "events">;
  readonly times: Times;
  /** The log's part of an audit id. */
  readonly keyId: string;
  /** How many entries there are. */
  readonly size: number;
}

/** The events that match, old to new. Every filter narrows; without one these are the first ones after `after`. */
export async function queryEvents(log: QueriedLog, where: AuditFilter): Promise<readonly AuditEvent[]> {
  const { after = -1, limit = defaultLimit } = where;
  const found: AuditEvent[] = [];
  if (limit <= 0) return found;
  const wanted = isWanted(log.keyId, where);
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

/** An entry that matches, as it is sent; of the others undefined, most of them unparsed. */
export function isWanted(keyId: string, where: AuditFilter): (seq: number, body: string) => AuditEvent | undefined {
  const needles = needlesOf(where);
  const calls = where.callId === undefined ? undefined : [where.callId].flat();
  const types = where.type === undefined ? undefined : [where.type].flat();
  const anyOf = [calls?.map((id) => JSON.stringify(id)), types?.map(spelledType)].filter((some) => some !== undefined);
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = where;
  const isTimed = where.since !== undefined || where.until !== undefined;
  return (seq, body) => {
    if (isTimed && !isBetween(timeOf(body), since, until)) return undefined;
    for (const needle of needles) if (!body.includes(needle)) return undefined;
    for (const some of anyOf) if (!some.some((needle) => body.includes(needle))) return undefined;
    const event = readable(keyId, seq, body);
    return event !== undefined && isOf(event.refs, calls) && isOfType(event, types) && matches(event, where)
      ? event
      : undefined;
  };
}

/** An entry as it is sent: the place in the log gives id and number. */
export function eventOf(keyId: string, seq: number, body: string): AuditEvent {
  const fields = JSON.parse(body) as Omit<AuditEvent, "audit_id" | "seq">; // entry.ts wrote it, the tree holds it
  return { audit_id: `evt_${keyId}_${seq}`, seq, ...fields };
}

/** Somebody may have written where only entry.ts writes: `verify` names that entry, and it keeps nobody from the others. */
function readable(keyId: string, seq: number, body: string): AuditEvent | undefined {
  try {
    const event = eventOf(keyId, seq, body);
    return typeof event.refs === "object" && event.refs !== null ? event : undefined;
  } catch {
    return undefined; // no JSON any more
  }
}

/** Texts a body must hold to be worth parsing. Somebody's `data` may hold them too: `matches` has the last word. */
function needlesOf(where: AuditFilter): readonly string[] {
  const { traceId, tool, outcome, tenant, runId, agent, by, text } = where;
  const fields = { trace_id: traceId, tool_name: tool, outcome, tenant, run: runId, agent, decided_by: by };
  const needles = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`"${name}":${JSON.stringify(value)}`],
  );
  if (text !== undefined) needles.push(JSON.stringify(text).slice(1, -1));
  return needles;
}

function matches(event: AuditEvent, where: AuditFilter): boolean {
  const { traceId, tool, outcome, tenant, runId, agent, by } = where;
  return (
    is(traceId, event.trace_id) &&
    is(tool, event.tool_name) &&
    is(outcome, event.outcome) &&
    is(tenant, event.tenant) &&
    is(runId, event.refs.run) &&
    is(agent, event.principal?.agent) &&
    is(by, event.decided_by)
  );
}

function isOfType({ type }: AuditEvent, types: readonly string[] | undefined): boolean {
  return types === undefined || types.some((one) => (one.endsWith(".") ? type.startsWith(one) : type === one));
}

function spelledType(type: string): string {
  const spelled = `"type":${JSON.stringify(type)}`;
  return type.endsWith(".") ? spelled.slice(0, -1) : spelled;
}

function isOf({ tool_call: arrival, key }: AuditEvent["refs"], calls: readonly string[] | undefined): boolean {
  return calls === undefined || calls.some((id) => id === arrival || id === key);
}

function isBetween(at: number, since: number, until: number): boolean {
  return at >= since && at <= until;
}

function is(wanted: string | undefined, given: string | undefined): boolean {
  return wanted === undefined || wanted === given;
}
