import type { AuditEvent } from "../../audit/log.ts";
import { brief } from "./bounded.ts";
import { isArchived, isEnd, sameness, statusesOf } from "./from-audit.ts";
import type { RunEvent, RunProblem, ToolRecord } from "./runs.ts";

/** A line of a file, and what it says. */
export interface Numbered<T> {
  readonly line: number;
  readonly value: T;
}

type Covers = (seq: number) => boolean;

/** Events that the log has too: the same ones, saying the same, in the same order. */
export function* compareEvents(
  events: readonly Numbered<RunEvent>[],
  logged: readonly AuditEvent[],
  covers: Covers,
): Generator<RunProblem> {
  const file = "events.jsonl";
  const left = byName(logged.filter(isArchived), ({ type, refs }) => sameness(type, refs.tool_call, refs.approval));
  let before = -1;
  for (const { line, value } of events) {
    const { audit } = value.data;
    if (typeof audit !== "string") continue;
    const event = left.get(sameness(audit, value.correlation_id, value.data["approval_id"]))?.shift();
    if (event === undefined) {
      yield { file, line, why: `the audit log has no \`${audit}\` of \`${value.correlation_id}\`` };
      continue;
    }
    const why = eventDifference(value, event);
    if (why !== undefined) yield { file, line, why: `${why} (entry ${event.seq} of the audit log)` };
    if (value.data["recovered"] === true) continue;
    if (event.seq < before) yield { file, line, why: "it stands after events that came later" };
    before = Math.max(before, event.seq);
  }
  for (const event of [...left.values()].flat()) {
    if (covers(event.seq))
      yield {
        file,
        why: `the line for \`${event.type}\` of \`${event.refs.tool_call}\` is missing (entry ${event.seq} of the audit log)`,
      };
  }
}

function eventDifference({ timestamp, data, type }: RunEvent, event: AuditEvent): string | undefined {
  if (timestamp !== event.timestamp) return `its time is ${timestamp}; it was ${event.timestamp}`;
  const tool = shown(event.tool_name ?? "");
  if (data["tool"] !== tool) return `its tool is \`${String(data["tool"])}\`; it was \`${tool}\``;
  if (data["code"] !== event.code) return `its code is ${told(data["code"])}; it was ${told(event.code)}`;
  if (isEnd(event.type) && data["duration_ms"] !== event.latency_ms)
    return `its duration is ${told(data["duration_ms"])} ms; it was ${told(event.latency_ms)} ms`;
  if (event.risk_level !== undefined && data["risk"] !== undefined && data["risk"] !== event.risk_level)
    return `its risk is ${told(data["risk"])}; it was ${event.risk_level}`;
  return type === "tool.started" && isEnd(event.type) ? "it tells an end as a start" : undefined;
}

/** One line for each end of an arrival, and none beside. */
export function* compareCalls(
  calls: readonly Numbered<ToolRecord>[],
  logged: readonly AuditEvent[],
  covers: Covers,
): Generator<RunProblem> {
  const file = "logs/tools.jsonl";
  const hashes = new Map<string, string>();
  for (const { refs, request_hash } of logged)
    if (refs.tool_call !== undefined && request_hash !== undefined) hashes.set(refs.tool_call, request_hash);
  const ends = logged.filter(({ type, refs }) => isEnd(type) && refs.tool_call !== undefined);
  const left = byName(ends, ({ refs }) => refs.tool_call ?? "");
  let before = -1;
  for (const { line, value } of calls) {
    const event = left.get(value.call_id)?.shift();
    if (event === undefined) {
      yield { file, line, why: `the audit log knows no end of \`${value.call_id}\`` };
      continue;
    }
    const why = callDifference(value, event, hashes.get(value.call_id));
    if (why !== undefined) yield { file, line, why: `${why} (entry ${event.seq} of the audit log)` };
    if (value.recovered === true) continue;
    if (event.seq < before) yield { file, line, why: "it stands after calls that ended later" };
    before = Math.max(before, event.seq);
  }
  for (const event of [...left.values()].flat()) {
    if (covers(event.seq))
      yield {
        file,
        why: `the line of \`${event.refs.tool_call}\` is missing (entry ${event.seq} of the audit log: \`${event.type}\`)`,
      };
  }
}

function callDifference(record: ToolRecord, event: AuditEvent, requestHash: string | undefined): string | undefined {
  const { tool_name, action, completed_at, duration_ms, status, args_digest } = record;
  const tool = shown(event.tool_name ?? "");
  if (tool_name !== tool) return `its tool is \`${tool_name}\`; it was \`${tool}\``;
  if (action !== shown(event.action ?? "default")) return `its action is \`${action}\`; it was \`${event.action}\``;
  if (completed_at !== event.timestamp) return `it ended at ${completed_at}; it was ${event.timestamp}`;
  if (duration_ms !== event.latency_ms) return `it took ${duration_ms} ms; it was ${told(event.latency_ms)} ms`;
  const may = statusesOf(event);
  if (!may.includes(status)) return `its status is ${status}; it was ${may.join(" or ")}`;
  if (requestHash !== undefined && args_digest !== requestHash.slice(0, 16))
    return `its arguments have the digest ${args_digest}; it was ${requestHash.slice(0, 16)}`;
  return undefined;
}

function byName<T>(values: readonly T[], nameOf: (value: T) => string): Map<string, T[]> {
  const named = new Map<string, T[]>();
  for (const value of values) {
    const name = nameOf(value);
    const same = named.get(name);
    if (same === undefined) named.set(name, [value]);
    else same.push(value);
  }
  return named;
}

/** As the archive shortens names; the log has masked them already. */
function shown(name: string): string {
  return brief(name, 200, (text) => text);
}

function told(value: unknown): string {
  return value === undefined ? "none" : String(value);
}
