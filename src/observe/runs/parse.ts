/** Reads our own files. Other programs can write there, so each field that we use is checked. */
import type { ErrorRecord, RunEvent, RunSummary, ToolRecord } from "./runs.ts";

export function pretty(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Each returns undefined if the text is no such object. */
export function eventIn(line: string): RunEvent | undefined {
  const event = fieldsOf<RunEvent>(line);
  const isOurs =
    Number.isSafeInteger(event?.sequence) &&
    [event?.event_id, event?.type, event?.timestamp, event?.summary, event?.severity].every(isText) &&
    typeof event?.data === "object" &&
    event.data !== null;
  return isOurs ? (event as RunEvent) : undefined; // the fields we use were checked
}

export function recordIn(line: string): ToolRecord | undefined {
  const record = fieldsOf<ToolRecord>(line);
  const isOurs =
    [record?.call_id, record?.tool_name, record?.action, record?.completed_at, record?.args_digest].every(isText) &&
    isText(record?.status) &&
    typeof record.audit_seq === "number" &&
    typeof record?.duration_ms === "number" &&
    Array.isArray(record.artifacts);
  return isOurs ? (record as ToolRecord) : undefined; // the fields we use were checked
}

export function errorIn(line: string): ErrorRecord | undefined {
  const record = fieldsOf<ErrorRecord>(line);
  const isOurs =
    [record?.call_id, record?.timestamp, record?.code, record?.message].every(isText) &&
    typeof record?.audit_seq === "number";
  return isOurs ? (record as ErrorRecord) : undefined; // the fields we use were checked
}

export function summaryIn(text: string): RunSummary | undefined {
  const summary = fieldsOf<RunSummary>(text);
  const isOurs =
    [summary?.run_id, summary?.tenant, summary?.state, summary?.created_at, summary?.last_event_at].every(isText) &&
    (summary?.principal === undefined || isText(summary.principal.agent)) &&
    Array.isArray(summary?.deliverables?.expected) &&
    typeof summary?.counts === "object" &&
    Array.isArray(summary.governance?.reasons);
  return isOurs ? (summary as RunSummary) : undefined; // the fields we use were checked
}

function fieldsOf<T>(text: string): Partial<T> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Partial<T>) : undefined; // no field is known yet
  } catch {
    return undefined; // the caller says what that means
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
