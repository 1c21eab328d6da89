import type { ToolCall } from "../core/call.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { ContentBlock, MediaBlock, ToolOutcome } from "../core/outcome.ts";
import { chainLimits } from "../core/session.ts";
import { cut, cutMiddle } from "../results/cut.ts";
import { withBrief } from "../results/raw-result.ts";
import type { End } from "./drive.ts";
import type { CallLine, Journal, PreviewNote, ScriptFile } from "./journal.ts";

/** What `tool_chain` answers: the script's words for the model, and how it ran, as data: status, trace, what was printed (SPEC 3.8). */
export interface ChainAnswer {
  readonly content: readonly ContentBlock[];
  readonly structured: JsonObject;
  readonly isError: boolean;
  /** Nothing is wrong with the script: the same call may be sent again. */
  readonly retryable?: true;
}

const longestError = 2000;
const longestToldError = 500;
const mostFiles = 20;
const mostTold = 12;
const longestName = 80;
const mostPreviews = 3;

/** What a script's answer is made of beside its end. */
export interface ResultParts {
  readonly journal: Journal;
  /** What goes back with it. */
  readonly files: readonly ScriptFile[];
  readonly durationMs: number;
  readonly again?: boolean;
  readonly engine: string | undefined;
  /** What goes back at once, of text and of structured content; all of it is kept where it is more. */
  readonly inlineBytes: number;
}

export function chainAnswer(end: Extract<End, { end: "done" | "failed" }>, told: ResultParts): ChainAnswer {
  const { journal, files, durationMs, engine, inlineBytes } = told;
  const words = wordsOf(end, told);
  const result: Record<string, Json> = {
    status: end.end === "done" ? "ok" : isTimeout(end.why) ? "timeout" : "error",
    output_text: words.output,
    output_blocks_refs: files.map(({ artifact }) => artifact),
    logs: words.logs,
    tool_calls: journal.callCount,
    duration_ms: Math.round(durationMs),
    error: end.end === "failed" ? cut(errorOf(end), longestError) : null,
    call_trace: journal.lines.map(lineToWire),
  };
  if (engine !== undefined) result["engine"] = engine;
  if (end.end === "failed") {
    result["error_kind"] = end.why;
    if (end.line !== undefined) result["error_line"] = end.line;
  }
  const answer: ChainAnswer = {
    content: [{ type: "text", text: textOf(words) }, ...files.map(blockOf)],
    structured: result,
    isError: end.end === "failed",
    ...(told.again === true && { retryable: true }),
  };
  const text = shortened(words, Math.floor(inlineBytes / 2));
  const data = shortened(words, Math.floor(inlineBytes / 4));
  const isCut = [text, data].some(({ output, logs }) => output !== words.output || logs !== words.logs);
  const room = end.end === "failed" ? inlineBytes / 2 : inlineBytes; // its refusal is told beside it
  // The rows of its trace are on record: they alone are no reason to keep it.
  if (!isCut && isShortEnough(answer, room)) return withBrief(answer, "whole");
  const structured = { ...result, output_text: data.output, logs: data.logs };
  return withBrief(answer, { text: textOf(text), structured });
}

interface ResultText {
  readonly logs: string;
  readonly output: string;
  /** Why it failed, and what it had done: never cut. */
  readonly ending: readonly string[];
}

function wordsOf(end: Extract<End, { end: "done" | "failed" }>, { journal, durationMs }: ResultParts): ResultText {
  const calls = journal.callCount;
  const sum = `[chain: ${calls} tool ${calls === 1 ? "call" : "calls"} in ${Math.round(durationMs)} ms]`;
  const error = end.end === "failed" ? cut(errorOf(end), longestToldError) : "";
  if (end.end === "done") journal.use(end.value ?? null);
  return {
    logs: journal.logs,
    output: end.end === "done" ? outputOf(end.value) : "",
    ending: [error, tail(end, journal.lines), previewNote(journal.previews), sum],
  };
}

function textOf({ logs, output, ending }: ResultText): string {
  return [logs, output, ...ending].filter((part) => part !== "").join("\n");
}

/** The answer counts for more than what was printed on the way to it. */
function shortened(words: ResultText, mostBytes: number): ResultText {
  const room = mostBytes - Buffer.byteLength(textOf({ ...words, logs: "", output: "" }));
  const output = cut(words.output, Math.max(0, room - 1));
  const logs = cutMiddle(words.logs, Math.max(0, room - Buffer.byteLength(output) - 2));
  return { ...words, logs, output };
}

/** Which files of the script go back: those it put, and those its answer names. */
export function filesOf(end: End, journal: Journal): readonly ScriptFile[] {
  if (journal.files.length === 0) return journal.files;
  const value = end.end === "done" && end.value !== undefined ? JSON.stringify(end.value) : "";
  return journal.files.filter(({ artifact, put }) => put || value.includes(artifact)).slice(0, mostFiles);
}

function outputOf(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function errorOf({ why, message, line }: Extract<End, { end: "failed" }>): string {
  const where = line === undefined ? "" : ` (line ${line})`;
  return why === "script" ? `The script failed${where}: ${message}` : message;
}

function isTimeout(why: string): boolean {
  return why === "timeout" || why === "wall" || why === "cpu";
}

/** A script that failed half-way has done things: the model must read which, so that it does not do them twice (SPEC 9.5). */
function tail(end: End, lines: readonly CallLine[]): string {
  if (end.end !== "failed" || lines.length === 0) return "";
  const shown = lines.slice(0, mostTold).map(({ tool, status, code }) => `${cut(tool, longestName)} ${code ?? status}`);
  const more = lines.length > mostTold ? `, … (${lines.length} in all)` : "";
  return `It had called: ${shown.join(", ")}${more}.`;
}

/** Once for all of them: a script that reads `.text` alone does not see that it is only the beginning. */
function previewNote(previews: readonly PreviewNote[]): string {
  if (previews.length === 0) return "";
  const shown = previews.slice(0, mostPreviews).map(({ tool, line }) => {
    return `\`${cut(tool, longestName)}\`${line === undefined ? "" : ` (line ${line})`}`;
  });
  const more = previews.length > mostPreviews ? ` and ${previews.length - mostPreviews} more` : "";
  return `Too big to be whole in the script: of ${shown.join(", ")}${more} the text was only its beginning. Hand the result on to a tool, or read it with .materialize().`;
}

function blockOf({ artifact, mediaType }: ScriptFile): MediaBlock {
  const [kind] = mediaType.split("/", 1);
  return { type: kind === "image" || kind === "audio" ? kind : "file", mediaType, artifact };
}

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
