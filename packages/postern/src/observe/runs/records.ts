/** The lines of `logs/tools.jsonl` and `logs/errors.jsonl` about the end of an arrival. Their limits sum up to less than 4 kB. */

import { type CallEvent, type EndName, type RefusalCode, refusals, type ToolOutcome } from "@postern/core";
import type { AuditEvent } from "../../audit/log.ts";
import { brief, type Redact } from "./bounded.ts";
import type { ErrorRecord, ToolRecord } from "./runs.ts";

/** An entry from its body and its place. */
export type LogEntry = Omit<AuditEvent, "audit_id">;
/** What the process that wrote the entry still knows. Arguments and results are in no entry. */
export type LiveEvent = Extract<CallEvent, { readonly moment: "ended" }>;
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

export interface EndOptions extends ProjectionOptions {
  readonly live?: LiveEvent | undefined;
}

export const nameBytes = 200;
const argumentsBytes = 600;
const messageBytes = 400;
const mostRules = 4;

export function recordOf(
  entry: LogEntry,
  as: EndName,
  {
    redact,
    summarize,
    live,
    start,
    status,
    artifacts,
  }: EndOptions & {
    readonly start: CallStart;
    readonly status: ToolRecord["status"];
    readonly artifacts: readonly string[];
  },
): ToolRecord {
  const { seq, type, refs, code, latency_ms = 0, timestamp, request_hash = start.digest } = entry;
  const { tool, action } = namesIn(entry, redact);
  const isBad = status === "failed" || status === "blocked";
  // A preview refuses nothing, but does not do what the caller asked for.
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

/** ErrorInfo of a call that failed or was refused, with the rules that refused it. */
export function errorOf(
  entry: LogEntry,
  { call_id, tool_name, action, completed_at, status, error, recovered, audit_seq }: ToolRecord,
  { redact }: ProjectionOptions,
): ErrorRecord {
  const { code = "tool_failed", message = "" } = error ?? {};
  const rules = (entry.reasons ?? [])
    .filter(({ effect }) => effect !== "ALLOW")
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

function argumentsOf({ call }: LiveEvent, redact: Redact): string {
  return call.problem === undefined ? brief(call.text, argumentsBytes, redact) : "(unreadable)";
}

export function namesIn(
  { tool_name = "", action = "default" }: LogEntry,
  redact: Redact,
): { tool: string; action: string } {
  return { tool: brief(tool_name, nameBytes, redact), action: brief(action, nameBytes, redact) };
}

/** The first 16 hex digits. */
export function digestIn(hash: string | undefined): string {
  return (hash ?? "").slice(0, 16);
}

export function isRefusal(code: string): code is RefusalCode {
  return Object.hasOwn(refusals, code);
}

const categories: ReadonlyMap<string, ErrorRecord["category"]> = new Map<RefusalCode, ErrorRecord["category"]>([
  ["internal", "engine"],
  ["audit_unavailable", "engine"],
  ["store_lost", "engine"],
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
