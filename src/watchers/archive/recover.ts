import { join } from "node:path";
import type { AuditEvent, AuditLog } from "../../audit/log.ts";
import { words } from "../../calls/event.ts";
import type { Redact } from "./bounded.ts";
import { auditEvents, isArchived, isEnd, recordFrom, sameness, spelledFrom } from "./from-audit.ts";
import { errorIn, eventIn, recordIn } from "./kept.ts";
import { LineFile } from "./line-file.ts";
import type { RunLog } from "./run-log.ts";

export interface RecoverOptions {
  readonly audit: Pick<AuditLog, "query">;
  /** Entries of the log from this one on, and before that one. */
  readonly from: number;
  readonly upTo: number;
  readonly redact: Redact;
  /** Undefined: that run cannot be kept. */
  readonly runOf: (tenant: string, runId: string, event: AuditEvent) => Promise<RunLog | undefined>;
}

/**
 * What the log has and the folders have not, because the process died or the disk was full: every event gets its line once,
 * however often this is done.
 *
 * @returns how many events were added
 */
export async function recover({ audit, from, upTo, redact, runOf }: RecoverOptions): Promise<number> {
  const byRun = new Map<string, AuditEvent[]>();
  for await (const event of auditEvents(audit, { after: from - 1 })) {
    if (event.seq >= upTo) break;
    if (!isArchived(event)) continue;
    const name = `${event.tenant}\0${event.refs.run}`;
    const events = byRun.get(name) ?? [];
    events.push(event);
    byRun.set(name, events);
  }
  let added = 0;
  for (const events of byRun.values()) {
    const [first] = events;
    const run = first && (await runOf(first.tenant, first.refs.run ?? "", first));
    if (run !== undefined) added += await addMissing(run, events, redact);
  }
  return added;
}

async function addMissing(run: RunLog, events: readonly AuditEvent[], redact: Redact): Promise<number> {
  const seen = await seenIn(run.folder);
  const hashes = new Map<string, string>();
  const starts = new Map<string, string>();
  let added = 0;
  for (const event of events) {
    const { type, refs, request_hash } = event;
    const callId = refs.tool_call ?? "";
    if (request_hash !== undefined) hashes.set(callId, request_hash);
    if (type === words.attempted.audit) starts.set(callId, event.timestamp);
    if (isEnd(type)) {
      const startedAt = starts.get(callId) ?? run.tally.open.get(callId)?.at;
      const { record, error } = recordFrom(event, { startedAt, requestHash: hashes.get(callId) }, redact);
      const line = `${callId} ${event.timestamp}`;
      run.addCall(take(seen.calls, line) ? undefined : record, take(seen.errors, line) ? undefined : error);
    }
    if (take(seen.events, sameness(type, callId, refs.approval))) continue;
    const isStart = type === words.attempted.audit;
    const parent = isStart ? (refs.parent ?? callId) : callId;
    const eventId = run.add(spelledFrom(event, redact), parent, seen.starts.get(parent));
    if (isStart) seen.starts.set(callId, eventId);
    added += 1;
  }
  return added;
}

interface Seen {
  /** How many lines say the same. */
  readonly events: Map<string, number>;
  readonly calls: Map<string, number>;
  readonly errors: Map<string, number>;
  /** The event that each call started with. */
  readonly starts: Map<string, string>;
}

/** What the files have already; a run that is open is written out before. */
async function seenIn(folder: string): Promise<Seen> {
  const seen: Seen = { events: new Map(), calls: new Map(), errors: new Map(), starts: new Map() };
  await linesOf(join(folder, "events.jsonl"), (line) => {
    const event = eventIn(line);
    if (event === undefined || typeof event.data["audit"] !== "string") return;
    const { data, correlation_id: callId, event_id: eventId } = event;
    count(seen.events, sameness(event.data["audit"], callId, data["approval_id"]));
    if (data["audit"] === words.attempted.audit && callId !== undefined) seen.starts.set(callId, eventId);
  });
  await linesOf(join(folder, "logs", "tools.jsonl"), (line) => {
    const record = recordIn(line);
    if (record !== undefined) count(seen.calls, `${record.call_id} ${record.completed_at}`);
  });
  await linesOf(join(folder, "logs", "errors.jsonl"), (line) => {
    const record = errorIn(line);
    if (record !== undefined) count(seen.errors, `${record.call_id} ${record.timestamp}`);
  });
  return seen;
}

async function linesOf(path: string, each: (line: string) => void): Promise<void> {
  await new LineFile(path, () => {}).open(each);
}

function count(map: Map<string, number>, name: string): void {
  map.set(name, (map.get(name) ?? 0) + 1);
}

function take(map: Map<string, number>, name: string): boolean {
  const left = map.get(name) ?? 0;
  if (left > 0) map.set(name, left - 1);
  return left > 0;
}
