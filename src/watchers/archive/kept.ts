/** Our own files read back: somebody may have written there, so every field that is relied on is looked at. */
import type { RunEvent, RunSummary, ToolRecord } from "./runs.ts";
import type { ErrorRecord } from "./tool-record.ts";

export function pretty(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Undefined: it is no event of ours. */
export function eventIn(line: string): RunEvent | undefined {
  const event = fieldsOf<RunEvent>(line);
  const isOurs =
    Number.isSafeInteger(event?.sequence) &&
    [event?.event_id, event?.type, event?.timestamp, event?.summary, event?.severity].every(isText) &&
    typeof event?.data === "object" &&
    event.data !== null;
  return isOurs ? (event as RunEvent) : undefined; // looked at above, as far as anyone relies on it
}

/** Undefined: it is no line of `logs/tools.jsonl`. */
export function recordIn(line: string): ToolRecord | undefined {
  const record = fieldsOf<ToolRecord>(line);
  const isOurs =
    [record?.call_id, record?.tool_name, record?.action, record?.completed_at, record?.args_digest].every(isText) &&
    isText(record?.status) &&
    typeof record?.duration_ms === "number" &&
    Array.isArray(record.artifacts);
  return isOurs ? (record as ToolRecord) : undefined; // looked at above, as far as anyone relies on it
}

/** Undefined: it is no line of `logs/errors.jsonl`. */
export function errorIn(line: string): ErrorRecord | undefined {
  const record = fieldsOf<ErrorRecord>(line);
  const isOurs = [record?.call_id, record?.timestamp, record?.code, record?.message].every(isText);
  return isOurs ? (record as ErrorRecord) : undefined; // looked at above, as far as anyone relies on it
}

/** Undefined: it is no `run.json`. */
export function summaryIn(text: string): RunSummary | undefined {
  const summary = fieldsOf<RunSummary>(text);
  const isOurs =
    [summary?.run_id, summary?.tenant, summary?.state, summary?.created_at, summary?.last_event_at].every(isText) &&
    (summary?.principal === undefined || isText(summary.principal.agent)) &&
    Array.isArray(summary?.deliverables?.expected) &&
    typeof summary?.counts === "object" &&
    Array.isArray(summary.governance?.reasons);
  return isOurs ? (summary as RunSummary) : undefined; // looked at above, as far as anyone relies on it
}

function fieldsOf<T>(text: string): Partial<T> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Partial<T>) : undefined; // nothing is said of any field
  } catch {
    return undefined; // the caller says what that means
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
