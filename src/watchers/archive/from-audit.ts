import type { AuditEvent, AuditFilter, AuditLog } from "../../audit/log.ts";
import { type EndName, endWords, words } from "../../calls/event.ts";
import type { JsonObject } from "../../calls/json.ts";
import { brief, type Redact } from "./bounded.ts";
import type { ToolRecord } from "./runs.ts";
import { codeOfEnd, endAs, type Spelled } from "./spell.ts";
import type { ErrorRecord } from "./tool-record.ts";

const page = 1_000;
const nameBytes = 200;
const gate = `${words.decided.audit}.`;

/** Types of the log that end an arrival. */
const endNames: ReadonlyMap<string, EndName> = new Map(
  (Object.keys(endWords) as EndName[]).map((name) => [endWords[name].audit, name]), // the names it is made of
);
/** What was replayed or settled ended as it did before: the log says that it was, not how. */
const endsAnyhow: ReadonlySet<string> = new Set([endWords.deduped.audit, endWords.settled.audit]);

/** Old to new, however many. */
export async function* auditEvents(audit: Pick<AuditLog, "query">, where: AuditFilter): AsyncGenerator<AuditEvent> {
  for (let { after = -1 } = where; ; ) {
    const events = await audit.query({ ...where, after, limit: page });
    yield* events;
    const last = events.at(-1);
    if (last === undefined || events.length < page) return;
    after = last.seq;
  }
}

/** Whether the archive must have a line for it. */
export function isArchived({ type, refs }: AuditEvent): boolean {
  if (refs.run === undefined || refs.tool_call === undefined) return false;
  return isEnd(type) || type === words.attempted.audit || type.startsWith(gate);
}

/** Whether `logs/tools.jsonl` must have a line for it. */
export function isEnd(type: string): boolean {
  return endNames.has(type);
}

/** Which statuses a line about such an end may have. */
export function statusesOf(event: AuditEvent): readonly ToolRecord["status"][] {
  if (endsAnyhow.has(event.type)) return ["started", "completed", "failed", "blocked"];
  const end = endOf(event);
  return end === undefined ? [] : [end.record];
}

/** What says that an event of the archive and one of the log are the same. */
export function sameness(type: string, callId: string | undefined, approvalId: unknown): string {
  return `${type} ${callId ?? ""} ${typeof approvalId === "string" ? approvalId : ""}`;
}

/** The archive's event for one that only the log still has. */
export function spelledFrom(event: AuditEvent, redact: Redact): Spelled {
  const { type, refs, trace_id, tool_name = "", action, code, risk_level, latency_ms, payload_ref } = event;
  const tool = brief(tool_name, nameBytes, redact);
  const severity = severities.get(endOf(event)?.record ?? "completed") ?? "info";
  return {
    at: Date.parse(event.timestamp),
    type: archiveType(event),
    actor: brief(event.decided_by ?? event.principal?.agent ?? "postern", nameBytes, redact),
    severity,
    summary: `\`${tool}\` ${type}, made up from the audit log`,
    session_id: trace_id,
    task_id: refs.task === undefined ? null : brief(refs.task, nameBytes, redact),
    data: {
      tool,
      ...(action !== undefined && action !== "default" && { action: brief(action, nameBytes, redact) }),
      audit: type,
      recovered: true,
      ...(latency_ms !== undefined && { duration_ms: latency_ms }),
      ...(risk_level !== undefined && { risk: risk_level }),
      ...(code !== undefined && { code }),
      ...(refs.approval !== undefined && { approval_id: refs.approval }),
      ...(payload_ref !== undefined && { artifacts: [payload_ref], artifacts_of: ownerOf(event) }),
    },
    ...(refs.tool_call !== undefined && { callId: refs.tool_call }),
  };
}

function ownerOf({ principal }: AuditEvent): JsonObject {
  const { agent = "", user } = principal ?? {};
  return {
    agent: brief(agent, nameBytes, (text) => text),
    ...(user !== undefined && { user: brief(user, nameBytes, (text) => text) }),
  };
}

const severities: ReadonlyMap<ToolRecord["status"], Spelled["severity"]> = new Map([
  ["failed", "error"],
  ["blocked", "warning"],
]);

/** The line of `logs/tools.jsonl`, as far as the log knows it; arguments and result are in it as hashes only. */
export function recordFrom(
  event: AuditEvent,
  { startedAt, requestHash }: { readonly startedAt: string | undefined; readonly requestHash: string | undefined },
  redact: Redact,
): { readonly record: ToolRecord; readonly error: ErrorRecord | undefined } {
  const { type, refs, tool_name = "", action = "default", code, latency_ms = 0, timestamp, payload_ref } = event;
  const status = endOf(event)?.record ?? "failed";
  const isBad = status === "failed" || status === "blocked";
  const told = { code: codeOfEnd(type, code), message: `${type}; nothing more was kept` };
  const of = {
    call_id: refs.tool_call ?? "",
    tool_name: brief(tool_name, nameBytes, redact),
    action: brief(action, nameBytes, redact),
  };
  const record: ToolRecord = {
    ...of,
    ...(startedAt !== undefined && { started_at: startedAt }),
    completed_at: timestamp,
    duration_ms: latency_ms,
    status,
    args_summary: "(recovered from the audit log, which has no arguments)",
    args_digest: (event.request_hash ?? requestHash ?? "").slice(0, 16),
    artifacts: payload_ref === undefined ? [] : [payload_ref],
    ...(isBad && { error: told }),
    ...(type === endWords.deduped.audit && { replayed: true }),
    recovered: true,
  };
  if (status !== "failed" && status !== "blocked") return { record, error: undefined };
  const category = status === "blocked" ? "governance" : "unknown";
  return { record, error: { ...of, timestamp, status, ...told, category, retryable: false, recovered: true } };
}

function archiveType(event: AuditEvent): string {
  if (event.type === words.attempted.audit) return words.attempted.archive;
  if (event.type === words.held.audit) return words.held.archive;
  return endOf(event)?.archive ?? `approval.${event.type.slice(gate.length)}`;
}

function endOf({
  type,
  outcome,
  code,
}: AuditEvent): { readonly archive: string; readonly record: ToolRecord["status"] } | undefined {
  const as = endNames.get(type);
  if (as === undefined) return undefined;
  const isSeen = !endsAnyhow.has(type);
  return endAs(as, isSeen || (code === undefined && outcome !== "failure") ? "ok" : "error", code);
}
