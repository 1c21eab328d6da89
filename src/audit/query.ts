import type { Store } from "../stores/store.ts";
import type { AuditEvent, AuditFilter } from "./log.ts";
import { unhurried } from "./unhurried.ts";

const defaultLimit = 200;

/**
 * The events that match, old to new. Every filter narrows; without one these are the first ones after `after`.
 *
 * @param keyId the log's part of an audit id
 */
export async function queryEvents(
  store: Pick<Store, "events">,
  keyId: string,
  where: AuditFilter,
): Promise<readonly AuditEvent[]> {
  const { after = -1, limit = defaultLimit } = where;
  const found: AuditEvent[] = [];
  if (limit <= 0) return found;
  const wanted = isWanted(keyId, where);
  for await (const { seq, body } of unhurried(store.events({ after }))) {
    const event = wanted(seq, body);
    if (event === undefined) continue;
    found.push(event);
    if (found.length >= limit) break;
  }
  return found;
}

/** An entry that matches, as it is sent; of the others undefined, most of them unparsed. */
export function isWanted(keyId: string, where: AuditFilter): (seq: number, body: string) => AuditEvent | undefined {
  const needles = needlesOf(where);
  return (seq, body) => {
    for (const needle of needles) if (!body.includes(needle)) return undefined;
    const event = readable(keyId, seq, body);
    return event !== undefined && matches(event, where) ? event : undefined;
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
  const { traceId, type, tool, outcome, tenant, callId, runId, agent, text } = where;
  const fields = { trace_id: traceId, tool_name: tool, outcome, tenant, run: runId, agent };
  const needles = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`"${name}":${JSON.stringify(value)}`],
  );
  if (type !== undefined) {
    const spelled = `"type":${JSON.stringify(type)}`;
    needles.push(type.endsWith(".") ? spelled.slice(0, -1) : spelled);
  }
  if (callId !== undefined) needles.push(JSON.stringify(callId));
  if (text !== undefined) needles.push(JSON.stringify(text).slice(1, -1));
  return needles;
}

function matches(event: AuditEvent, where: AuditFilter): boolean {
  const { traceId, type, tool, outcome, tenant, callId, runId, agent, since, until } = where;
  const at = since === undefined && until === undefined ? 0 : Date.parse(event.timestamp);
  return (
    is(traceId, event.trace_id) &&
    is(tool, event.tool_name) &&
    is(outcome, event.outcome) &&
    is(tenant, event.tenant) &&
    is(runId, event.refs.run) &&
    is(agent, event.principal?.agent) &&
    (type?.endsWith(".") ? event.type.startsWith(type) : is(type, event.type)) &&
    (callId === undefined || event.refs.tool_call === callId || event.refs.key === callId) &&
    (since === undefined || at >= since) &&
    (until === undefined || at <= until)
  );
}

function is(wanted: string | undefined, given: string | undefined): boolean {
  return wanted === undefined || wanted === given;
}
