/** The lines of one audit log entry in a run folder. */
import {
  type CallEvent,
  type EndName,
  endEvents,
  isJsonObject,
  type JsonObject,
  momentNames,
  type RefusalCode,
  refusals,
  type ToolOutcome,
} from "@postern/core";
import { repeatedType } from "../../pipeline/repeated-refusals.ts";
import { brief, briefData, type Redact } from "./bounded.ts";
import {
  type CallStart,
  digestIn,
  type EndOptions,
  errorOf,
  isRefusal,
  type LiveEvent,
  type LogEntry,
  nameBytes,
  namesIn,
  recordOf,
} from "./records.ts";
import type { ErrorRecord, RunEvent, ToolRecord } from "./runs.ts";

export type EmittedEvent = Extract<CallEvent, { readonly moment: "emitted" }>;

/** An event before its run gives it a number. */
export type UnnumberedEvent = Omit<RunEvent, "event_id" | "sequence" | "run_id" | "parent_event_id">;

export interface Projected {
  readonly event: UnnumberedEvent;
  /** The call whose start this belongs to. */
  readonly parent?: string | undefined;
  readonly record?: ToolRecord;
  readonly error?: ErrorRecord;
}

const summaryBytes = 300;
const dataBytes = 1_600;
const mostArtifacts = 6;
const gate = `${momentNames.decided.audit}.`;
/** Events of these names come from the audit log or from Postern, and they give the state of a run. */
const reserved = /^(?:tool|run|approval|deliverable|config|prompt|error)(?:\.|$)/;
const wellFormed = /^[a-z0-9_]{1,40}(?:\.[a-z0-9_]{1,40}){0,3}$/;
const waitRanOut: RefusalCode = "approval_timed_out";

const endNames: ReadonlyMap<string, EndName> = new Map(
  (Object.keys(endEvents) as EndName[]).map((name) => [endEvents[name].audit, name]), // the names it is made of
);

/** The lines of an entry. They are the same with and without `live`, except for what no entry holds. */
export function project(entry: LogEntry, start: CallStart, options: EndOptions): Projected {
  const { type, refs } = entry;
  const as = endNames.get(type);
  if (refs.tool_call === undefined) return { event: noted(entry, options.redact) };
  if (as !== undefined) return ended(entry, as, { ...options, start });
  const { redact } = options;
  const { approval, parent, tool_call } = refs;
  const approvalId = approval === undefined ? {} : { approval_id: approval };
  const risk = entry.risk_level === undefined ? {} : { risk: entry.risk_level };
  if (type === momentNames.held.audit) {
    const data = { ...approvalId, ...risk };
    return {
      event: ofCall(entry, { type: momentNames.held.archive, summary: "needs a person", data }, redact),
      parent: tool_call,
    };
  }
  if (type === momentNames.attempted.audit) {
    const data = { ...risk, ...approvalId, args_digest: digestIn(entry.request_hash) };
    const event = ofCall(entry, { type: momentNames.attempted.archive, summary: "started", data }, redact);
    return { event, parent: parent ?? tool_call };
  }
  const word = type.slice(gate.length);
  const reason = entry.reason === undefined ? {} : { reason: brief(entry.reason, summaryBytes, redact) };
  const data = { ...approvalId, ...reason };
  return { event: ofCall(entry, { type: `approval.${word}`, summary: word, data }, redact), parent: tool_call };
}

/** What a tool emitted about its work. No entry holds it. */
export function emitted({ call, type, summary, data }: EmittedEvent, now: number, redact: Redact): UnnumberedEvent {
  const { principal, taskId, traceId } = call.authority;
  const named = wellFormed.test(type) && !reserved.test(type);
  return {
    session_id: traceId,
    task_id: taskId === undefined ? null : brief(taskId, nameBytes, redact),
    type: named ? type : "emitted.other",
    timestamp: new Date(now).toISOString(),
    actor: brief(principal.agent, nameBytes, redact),
    severity: /\.(?:rejected|failed)$/.test(type) ? "warning" : "info",
    summary: brief(summary, summaryBytes, redact),
    data: {
      tool: brief(call.tool, nameBytes, redact),
      ...(call.action !== "default" && { action: brief(call.action, nameBytes, redact) }),
      ...(!named && { as: brief(type, nameBytes, redact) }),
      ...(data !== undefined && { said: briefData(data, dataBytes, redact) }),
    },
    correlation_id: call.id,
  };
}

function noted(entry: LogEntry, redact: Redact): UnnumberedEvent {
  const { seq, type, summary, timestamp, trace_id, decided_by, data, outcome } = entry;
  const named = wellFormed.test(type) && !reserved.test(type);
  return {
    session_id: trace_id,
    task_id: null,
    type: named ? type : "noted.other",
    timestamp,
    actor: brief(decided_by ?? "postern", nameBytes, redact),
    severity: outcome === "failure" ? "warning" : "info",
    summary: brief(summary, summaryBytes, redact),
    data: {
      ...(!named && { as: brief(type, nameBytes, redact) }),
      ...(data !== undefined && { said: briefData({ data }, dataBytes, redact) }),
      audit_seq: seq,
    },
  };
}

function ofCall(
  entry: LogEntry,
  {
    type,
    summary,
    data,
    severity = "info",
  }: Pick<UnnumberedEvent, "type" | "summary" | "data"> & Partial<Pick<UnnumberedEvent, "severity">>,
  redact: Redact,
): UnnumberedEvent {
  const { tool, action } = namesIn(entry, redact);
  const { refs, principal, decided_by } = entry;
  return {
    session_id: entry.trace_id,
    task_id: refs.task === undefined ? null : brief(refs.task, nameBytes, redact),
    type,
    timestamp: entry.timestamp,
    actor: brief(decided_by ?? principal?.agent ?? "postern", nameBytes, redact),
    severity,
    summary: `\`${tool}\` ${summary}`,
    data: { tool, ...(action !== "default" && { action }), audit: entry.type, audit_seq: entry.seq, ...data },
    ...(refs.tool_call !== undefined && { correlation_id: refs.tool_call }),
  };
}

function ended(entry: LogEntry, as: EndName, options: EndOptions & { readonly start: CallStart }): Projected {
  const { redact, live } = options;
  const { refs, code, risk_level, principal } = entry;
  const { archive, record: status } = endAs(as, code, live?.outcome.status);
  const artifacts = artifactsOf(entry, live);
  const event = ofCall(
    entry,
    {
      type: archive,
      summary: code === undefined ? status : `${status}: ${code}`,
      severity: status === "failed" ? "error" : status === "blocked" ? "warning" : "info",
      data: {
        status,
        duration_ms: entry.latency_ms ?? 0,
        ...(risk_level !== undefined && { risk: risk_level }),
        ...(code !== undefined && { code }),
        ...(refs.approval !== undefined && { approval_id: refs.approval }),
        ...(artifacts.length > 0 && { artifacts, artifacts_of: ownerIn(principal, redact) }),
      },
    },
    redact,
  );
  const isBad = status === "failed" || status === "blocked";
  const record = recordOf(entry, as, { ...options, status, artifacts });
  return { event, parent: refs.tool_call, record, ...(isBad && { error: errorOf(entry, record, options) }) };
}

/** If a caller's wait for an approver times out, the request is still open, so nothing was refused. */
function endAs(
  as: EndName,
  code: string | undefined,
  outcome: ToolOutcome["status"] | undefined,
): { readonly archive: string; readonly record: ToolRecord["status"] } {
  if (code === waitRanOut) return endEvents.suspended;
  if (as !== "deduped" && as !== "settled") return endEvents[as];
  const status = outcome ?? (code === undefined ? "ok" : isRefusal(code) ? refusals[code].status : "error");
  if (status === "ok" || status === "preview") return endEvents.succeeded;
  if (status === "pending") return endEvents.suspended;
  return status === "denied" ? endEvents.refused : endEvents.failed;
}

/** Digests of everything the outcome refers to; an entry holds the first one only. */
function artifactsOf({ payload_ref }: LogEntry, live: LiveEvent | undefined): readonly string[] {
  const { artifact = payload_ref, files = [], content = [] } = live?.outcome ?? {};
  const media = content.flatMap((block) =>
    "artifact" in block && block.artifact !== undefined ? [block.artifact] : [],
  );
  const all = [...(artifact === undefined ? [] : [artifact]), ...files.map((file) => file.artifact), ...media];
  return [...new Set(all)].slice(0, mostArtifacts);
}

/** Who may read the artifacts. */
function ownerIn(principal: LogEntry["principal"], redact: Redact): JsonObject {
  const { agent = "", user } = principal ?? {};
  return {
    agent: brief(agent, nameBytes, redact),
    ...(user !== undefined && { user: brief(user, nameBytes, redact) }),
  };
}

/** Which run an entry belongs to. A system event names its run in its data; undefined if it belongs to none. */
export function runIn({ refs, type, data }: LogEntry): string | undefined {
  if (refs.tool_call !== undefined) return refs.run;
  const runId = data !== undefined && isJsonObject(data) ? data["run_id"] : undefined;
  return typeof runId === "string" && type !== writtenByRun ? runId : undefined;
}

/**
 * Refusals of the budget gate make no folder: a caller could name a new run with each. A run that is open has their lines.
 */
export function makesNoFolder({ type, code }: LogEntry): boolean {
  return type === repeatedType || (type === endEvents.refused.audit && code !== undefined && overBudget.has(code));
}

const overBudget: ReadonlySet<string> = new Set<RefusalCode>(["budget_exhausted", "session_closed"]);

/** `operator.action.run_begun`, `…run_described`, `…run_finished`. */
export const byHandType = "operator.action.run_";
/** The folder has a line of its own for this. */
const writtenByRun = `${byHandType}finished`;
