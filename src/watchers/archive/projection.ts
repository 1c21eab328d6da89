/** What one entry of the audit log is in a run folder (SPEC 7.5, 14.3 to 14.5). The writer and verify.ts both ask here. */
import type { AuditEvent } from "../../audit/log.ts";
import { type CallEvent, type EndName, endWords, words } from "../../calls/event.ts";
import { isJsonObject, type JsonObject } from "../../calls/json.ts";
import type { ToolOutcome } from "../../calls/outcome.ts";
import { type RefusalCode, refusals } from "../../calls/refusals.ts";
import { brief, briefData, type Redact } from "./bounded.ts";
import type { ErrorRecord, RunEvent, ToolRecord } from "./runs.ts";

/** An entry as its body and its place say it. */
export type LogEntry = Omit<AuditEvent, "audit_id">;
/** What the process that wrote the entry still knows. Arguments and results are in no entry. */
export type LiveEvent = Extract<CallEvent, { readonly moment: "ended" }>;
export type EmittedEvent = Extract<CallEvent, { readonly moment: "emitted" }>;

/** An event before its run gives it a number. */
export type UnnumberedEvent = Omit<RunEvent, "event_id" | "sequence" | "run_id" | "parent_event_id">;

/** When a call started, and the digest of its arguments: an entry about its end has neither. */
export interface CallStart {
  readonly at?: string;
  readonly digest?: string;
}

export interface ProjectionOptions {
  readonly redact: Redact;
  /** What a result is, in one line. */
  readonly summarize: (outcome: ToolOutcome) => string;
}

export interface Projected {
  readonly event: UnnumberedEvent;
  /** The call whose start this belongs to. */
  readonly parent?: string | undefined;
  readonly record?: ToolRecord;
  readonly error?: ErrorRecord;
}

const nameBytes = 200;
const summaryBytes = 300;
const dataBytes = 1_600;
const argumentsBytes = 600;
const messageBytes = 400;
const mostArtifacts = 6;
const mostRules = 4;
const gate = `${words.decided.audit}.`;
/** Verify compares events of these names with the audit log, and the state of a run is made of them. */
const reserved = /^(?:tool|run|approval|deliverable|config|prompt|error)(?:\.|$)/;
const wellFormed = /^[a-z0-9_]{1,40}(?:\.[a-z0-9_]{1,40}){0,3}$/;
const waitRanOut: RefusalCode = "approval_timed_out";

const endNames: ReadonlyMap<string, EndName> = new Map(
  (Object.keys(endWords) as EndName[]).map((name) => [endWords[name].audit, name]), // the names it is made of
);

interface EndOptions extends ProjectionOptions {
  readonly live?: LiveEvent | undefined;
  /** How a replayed or settled call ended, if that is known without `live`. */
  readonly status?: ToolOutcome["status"] | undefined;
}

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
  if (type === words.held.audit) {
    const data = { ...approvalId, ...risk };
    return {
      event: ofCall(entry, { type: words.held.archive, summary: "needs a person", data }, redact),
      parent: tool_call,
    };
  }
  if (type === words.attempted.audit) {
    const data = { ...risk, ...approvalId, args_digest: digestIn(entry.request_hash) };
    const event = ofCall(entry, { type: words.attempted.archive, summary: "started", data }, redact);
    return { event, parent: parent ?? tool_call };
  }
  const word = type.slice(gate.length);
  const reason = entry.reason === undefined ? {} : { reason: brief(entry.reason, summaryBytes, redact) };
  const data = { ...approvalId, ...reason };
  return { event: ofCall(entry, { type: `approval.${word}`, summary: word, data }, redact), parent: tool_call };
}

/** What a tool said of its own work. No entry holds it. */
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
  const { archive, record: status } = endAs(as, code, live?.outcome.status ?? options.status);
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

function recordOf(
  entry: LogEntry,
  as: EndName,
  {
    redact,
    summarize,
    live,
    start,
    status,
    artifacts,
  }: Omit<EndOptions, "status"> & {
    readonly start: CallStart;
    readonly status: ToolRecord["status"];
    readonly artifacts: readonly string[];
  },
): ToolRecord {
  const { seq, type, refs, code, latency_ms = 0, timestamp, request_hash = start.digest } = entry;
  const { tool, action } = namesIn(entry, redact);
  const isBad = status === "failed" || status === "blocked";
  // A preview refuses nothing, and is not what the caller asked for either.
  const reported = code ?? (as === "previewed" ? "preview_only" : "tool_failed");
  const message =
    live === undefined ? `${type}; the log holds no more` : brief(live.outcome.text, messageBytes, redact);
  return {
    call_id: refs.tool_call ?? "",
    tool_name: tool,
    action,
    ...(start.at !== undefined && { started_at: start.at }),
    completed_at: timestamp,
    duration_ms: latency_ms,
    status,
    args_summary:
      live === undefined ? "(recovered from the audit log, which has no arguments)" : argumentsOf(live, redact),
    args_digest: digestIn(request_hash),
    ...(live !== undefined && !isBad && { result_summary: brief(summarize(live.outcome), argumentsBytes, redact) }),
    artifacts,
    ...(isBad && { error: { code: reported, message } }),
    ...(as === "deduped" && { replayed: true }),
    ...(live === undefined && { recovered: true }),
    audit_seq: seq,
  };
}

function errorOf(
  entry: LogEntry,
  { call_id, tool_name, action, completed_at, status, error, recovered, audit_seq }: ToolRecord,
  { redact }: ProjectionOptions,
): ErrorRecord {
  const { code = "tool_failed", message = "" } = error ?? {};
  const rules = (entry.reasons ?? [])
    .filter(({ says }) => says !== "ALLOW")
    .slice(0, mostRules)
    .map(({ rule, where }) => brief(where === undefined ? rule : `${rule} (${where})`, 120, redact));
  return {
    timestamp: completed_at,
    ...{ call_id, tool_name, action, status: status === "blocked" ? "blocked" : "failed", code, message },
    category: categories.get(code) ?? (status === "blocked" ? "governance" : "tool"),
    retryable: isRefusal(code) && refusals[code].retry !== "never",
    ...(rules.length > 0 && { rules }),
    ...(recovered && { recovered }),
    audit_seq,
  };
}

/** A caller whose wait for a person ran out was refused nothing: the request is still open. */
function endAs(
  as: EndName,
  code: string | undefined,
  outcome: ToolOutcome["status"] | undefined,
): { readonly archive: string; readonly record: ToolRecord["status"] } {
  if (code === waitRanOut) return endWords.suspended;
  if (as !== "deduped" && as !== "settled") return endWords[as];
  const status = outcome ?? (code === undefined ? "ok" : isRefusal(code) ? refusals[code].status : "error");
  if (status === "ok" || status === "preview") return endWords.succeeded;
  if (status === "pending") return endWords.suspended;
  return status === "denied" ? endWords.refused : endWords.failed;
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

function argumentsOf({ call }: LiveEvent, redact: Redact): string {
  return call.problem === undefined ? brief(call.text, argumentsBytes, redact) : "(unreadable)";
}

function namesIn({ tool_name = "", action = "default" }: LogEntry, redact: Redact): { tool: string; action: string } {
  return { tool: brief(tool_name, nameBytes, redact), action: brief(action, nameBytes, redact) };
}

/** Who may read the artifacts. */
function ownerIn(principal: LogEntry["principal"], redact: Redact): JsonObject {
  const { agent = "", user } = principal ?? {};
  return {
    agent: brief(agent, nameBytes, redact),
    ...(user !== undefined && { user: brief(user, nameBytes, redact) }),
  };
}

/** SPEC 3.7: the first 16 hex digits. */
function digestIn(hash: string | undefined): string {
  return (hash ?? "").slice(0, 16);
}

function isRefusal(code: string): code is RefusalCode {
  return Object.hasOwn(refusals, code);
}

const categories: ReadonlyMap<string, ErrorRecord["category"]> = new Map<RefusalCode, ErrorRecord["category"]>([
  ["internal", "engine"],
  ["audit_unavailable", "engine"],
  ["overloaded", "engine"],
  ["paused", "engine"],
  ["cancelled", "engine"],
  ["outcome_unknown", "unknown"],
  ["tool_unknown", "config"],
  ["tool_not_callable", "config"],
  ["tool_unavailable", "tool"],
  ["arguments_invalid", "tool"],
  ["result_unavailable", "tool"],
]);

/** Which run an entry belongs to. A system event names its run in its data; undefined if it belongs to none. */
export function runIn({ refs, type, data }: LogEntry): string | undefined {
  if (refs.tool_call !== undefined) return refs.run;
  const runId = data !== undefined && isJsonObject(data) ? data["run_id"] : undefined;
  return typeof runId === "string" && !writtenByRun.has(type) ? runId : undefined;
}

export const sealType = "run.archived";
/** `operator.action.run_begun`, `…run_described`, `…run_finished`. */
export const byHandType = "operator.action.run_";
/** The folder has lines of its own for these. */
const writtenByRun: ReadonlySet<string> = new Set([sealType, `${byHandType}finished`]);
