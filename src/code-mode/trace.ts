import type { ToolCall } from "../core/call.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import { chainLimits } from "../core/session.ts";
import type { CallLine } from "./journal.ts";

/** What a line says beside its call and how that ended. `callId`: of its row, where another arrival than its first has ended it. */
export type LinePlace = Pick<CallLine, "place" | "durationMs"> & {
  readonly line?: number | undefined;
  readonly callId?: string | undefined;
};

export function lineOf(
  { tool, digest }: Pick<ToolCall, "tool" | "digest">,
  { status, refusal, timedOut, callId: endedAs }: Exclude<ToolOutcome, { readonly status: "pending" }>,
  { place, durationMs, line, callId = endedAs }: LinePlace,
): CallLine {
  const code = refusal?.code;
  const ended = code === "cancelled" ? code : status === "preview" ? "denied" : status;
  return {
    ...{ place, tool, argumentsDigest: digest.slice(0, 16), durationMs, callId },
    status: timedOut === true || code === "timed_out" ? "timeout" : ended,
    ...(line !== undefined && { line }),
    ...(code !== undefined && { code }),
  };
}

/** One call of a script in snake_case, as models and logs read it (SPEC 3.7). */
export function lineToWire({ tool, argumentsDigest, status, durationMs, line, code }: CallLine): JsonObject {
  const said: Record<string, Json> = { tool, args_digest: argumentsDigest, status };
  if (code !== undefined) said["code"] = code;
  if (line !== undefined) said["line"] = line;
  return { ...said, duration_ms: Math.round(durationMs) };
}

/** What an agent reads at once, text and structured content together. */
const mostBytes = chainLimits.maxInlineResultBytes;

/**
 * A script's answer as an agent gets it. Every row of its trace is on record and goes to programs; where that is more than
 * an agent should read at once, its rows are shortened, and then only the first and the last of them are told, with how
 * many there were. The whole one is then the artifact that the answer names.
 */
export function shortTrace({ structured, text, artifact, status, refusal }: ToolOutcome): Json | undefined {
  const rows = isJsonObject(structured) ? structured["call_trace"] : undefined;
  if (!isJsonObject(structured) || !Array.isArray(rows)) return structured;
  const around = refusal === undefined ? "" : JSON.stringify({ status, ...refusal, structured: "" });
  const room = mostBytes - Buffer.byteLength(text) - Buffer.byteLength(around);
  if (bytesOf(structured) <= room) return structured;
  const short = rows.map(withoutFigures);
  const whole = { ...structured, call_trace: short };
  return artifact === undefined || bytesOf(whole) <= room ? whole : firstAndLast(structured, short, room);
}

/** Whether an agent can read the text and every row at once, short as it gets them, however much programs may have inline. */
export function isShortEnough({ content, structured }: TraceAnswer, inlineBytes: number): boolean {
  const room = Math.min(inlineBytes, mostBytes);
  const { call_trace: rows = [], ...rest } = structured;
  if (!Array.isArray(rows) || rows.length * leastRowBytes > room) return false; // of a million none is looked at
  return bytesOf(content) + bytesOf({ ...rest, call_trace: rows.map(withoutFigures) }) <= room;
}

/** `{"tool":"a","status":"ok"}` */
const leastRowBytes = 26;

interface TraceAnswer {
  readonly content: readonly unknown[];
  readonly structured: JsonObject;
}

function withoutFigures(row: Json): Json {
  if (!isJsonObject(row)) return row;
  const { args_digest: _digest, duration_ms: _duration, ...said } = row;
  return said;
}

function firstAndLast(structured: JsonObject, rows: readonly Json[], room: number): JsonObject {
  const told = (first: number, last: number): JsonObject => ({
    ...structured,
    call_trace: [...rows.slice(0, first), ...rows.slice(rows.length - last)],
    call_trace_left_out: { after: first, count: rows.length - first - last, ended: endsOf(rows) },
  });
  let [first, last] = [0, 0];
  let left = room - bytesOf(told(0, 0));
  while (first + last < rows.length) {
    const isFirst = first <= last;
    left -= bytesOf(rows[isFirst ? first : rows.length - 1 - last] ?? null) + 1;
    if (left < 0) break;
    if (isFirst) first += 1;
    else last += 1;
  }
  return told(first, last);
}

/** How all of them ended: `{ ok: 48, denied: 2 }`. */
function endsOf(rows: readonly Json[]): JsonObject {
  const ends = new Map<string, number>();
  for (const row of rows) {
    const status = isJsonObject(row) ? String(row["status"]) : "";
    ends.set(status, (ends.get(status) ?? 0) + 1);
  }
  return Object.fromEntries(ends);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
