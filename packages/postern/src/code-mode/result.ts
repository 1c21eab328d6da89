import {
  type ContentBlock,
  defined,
  isJsonObject,
  type Json,
  type JsonObject,
  type MediaBlock,
  type ToolCall,
  type ToolOutcome,
} from "@postern/core";
import type { ScriptStep } from "@postern/core/sandbox";
import { chainLimits } from "../call/session.ts";
import { cut, cutMiddle } from "../results/cut.ts";
import { withBrief } from "../results/raw-result.ts";
import { readable } from "../results/readable.ts";
import type { HaltedScript } from "./frozen.ts";
import type { CallLine, Journal, PreviewNote, ScriptFile } from "./journal.ts";

export type FailedWhy =
  | Extract<ScriptStep, { step: "failed" }>["why"]
  | "budget"
  | "diverged"
  | "timeout"
  | "closed"
  | "unrecorded";

export type End =
  | { readonly end: "done"; readonly value: Json | undefined }
  | { readonly end: "failed"; readonly why: FailedWhy; readonly message: string; readonly line?: number }
  | { readonly end: "halted"; readonly halted: HaltedScript }
  | { readonly end: "cancelled" };

export type FailedScript = Extract<End, { end: "failed" }>;

/** The end of a script that was stopped from outside. */
export type StoppedScript = FailedScript | Extract<End, { end: "cancelled" }>;

/** The answer of `tool_chain`: text for the model, and data: status, trace, printed text. */
export interface ChainAnswer {
  readonly content: readonly ContentBlock[];
  readonly structured: JsonObject;
  readonly isError: boolean;
  /** The script is correct: the same call may be sent again. */
  readonly retryable?: true;
}

const longestError = 2000;
const longestErrorInText = 500;
const mostFiles = 20;
const mostCallsShown = 12;
const longestName = 80;
const mostPreviewsShown = 3;

/** The parts of a script's answer beside its end. */
export interface ResultParts {
  readonly journal: Journal;
  /** The files that go back with it. */
  readonly files: readonly ScriptFile[];
  readonly durationMs: number;
  readonly again?: boolean;
  readonly engine: string | undefined;
  /** The most bytes of text and of structured content. A larger answer is kept as an artifact. */
  readonly inlineBytes: number;
}

export function chainAnswer(end: Extract<End, { end: "done" | "failed" }>, parts: ResultParts): ChainAnswer {
  const { journal, files, durationMs, engine, inlineBytes } = parts;
  const words = wordsOf(end, parts);
  const shown = withHidden(words); // a model reads it, so its size counts with the hidden characters shown
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
    content: [{ type: "text", text: textOf(shown) }, ...files.map(blockOf)],
    structured: result,
    isError: end.end === "failed",
    ...(parts.again === true && { retryable: true }),
  };
  const text = shortened(shown, Math.floor(inlineBytes / 2));
  const data = shortened(words, Math.floor(inlineBytes / 4));
  const isCut = !isSameText(text, shown) || !isSameText(data, words);
  const room = end.end === "failed" ? inlineBytes / 2 : inlineBytes; // the refusal is returned beside it
  // The rows of its trace are in the ledger: they alone are no reason for an artifact.
  if (!isCut && isShortEnough(answer, room)) return withBrief(answer, "whole");
  const structured = { ...result, output_text: data.output, logs: data.logs };
  return withBrief(answer, { text: textOf(text), structured });
}

interface ResultText {
  readonly logs: string;
  readonly output: string;
  /** Why it failed and what it had done: never cut. */
  readonly ending: readonly string[];
}

function wordsOf(end: Extract<End, { end: "done" | "failed" }>, { journal, durationMs }: ResultParts): ResultText {
  const calls = journal.callCount;
  const sum = `[chain: ${calls} tool ${calls === 1 ? "call" : "calls"} in ${Math.round(durationMs)} ms]`;
  const error = end.end === "failed" ? cut(errorOf(end), longestErrorInText) : "";
  if (end.end === "done") journal.use(end.value ?? null);
  return {
    logs: journal.logs,
    output: end.end === "done" ? outputOf(end.value) : "",
    ending: [error, callsNote(end, journal.lines), previewNote(journal.previews), sum],
  };
}

function withHidden({ logs, output, ending }: ResultText): ResultText {
  return { logs: readable(logs), output: readable(output), ending: ending.map(readable) };
}

function isSameText(one: ResultText, other: ResultText): boolean {
  return one.output === other.output && one.logs === other.logs;
}

function textOf({ logs, output, ending }: ResultText): string {
  return [logs, output, ...ending].filter((part) => part !== "").join("\n");
}

/** Cuts printed text first, then the returned value. */
function shortened(words: ResultText, mostBytes: number): ResultText {
  const room = mostBytes - Buffer.byteLength(textOf({ ...words, logs: "", output: "" }));
  const output = cut(words.output, Math.max(0, room - 1));
  const logs = cutMiddle(words.logs, Math.max(0, room - Buffer.byteLength(output) - 2));
  return { ...words, logs, output };
}

/** The returned files: those the script put, and those its answer names. */
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

/** The calls of a failed script, so that the model does not make them twice. */
function callsNote(end: End, lines: readonly CallLine[]): string {
  if (end.end !== "failed" || lines.length === 0) return "";
  const shown = lines
    .slice(0, mostCallsShown)
    .map(({ tool, status, code }) => `${cut(tool, longestName)} ${code ?? status}`);
  const more = lines.length > mostCallsShown ? `, … (${lines.length} in all)` : "";
  return `It had called: ${shown.join(", ")}${more}.`;
}

/** Names the results of which the script has only read the beginning. */
function previewNote(previews: readonly PreviewNote[]): string {
  if (previews.length === 0) return "";
  const shown = previews.slice(0, mostPreviewsShown).map(({ tool, line }) => {
    return `\`${cut(tool, longestName)}\`${line === undefined ? "" : ` (line ${line})`}`;
  });
  const more = previews.length > mostPreviewsShown ? ` and ${previews.length - mostPreviewsShown} more` : "";
  return `Too big to be whole in the script: of ${shown.join(", ")}${more} the text was only its beginning. Hand the result on to a tool, or read it with .materialize().`;
}

function blockOf({ artifact, mediaType }: ScriptFile): MediaBlock {
  const [kind] = mediaType.split("/", 1);
  return { type: kind === "image" || kind === "audio" ? kind : "file", mediaType, artifact };
}

/** The members of a line besides its call and outcome. `callId`: the id of its row, if a later arrival ended it. */
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
    ...defined({ line, code }),
  };
}

/** One call of a script in snake_case, for models and logs. */
export function lineToWire({ tool, argumentsDigest, status, durationMs, line, code }: CallLine): JsonObject {
  return {
    ...{ tool, args_digest: argumentsDigest, status, ...defined({ code }) },
    ...defined({ line }),
    duration_ms: Math.round(durationMs),
  };
}

/** The most that an agent gets inline: text and structured content together. */
const mostBytes = chainLimits.maxInlineResultBytes;

/**
 * The structured content of a script's answer for an agent. If the trace is too long, its rows are shortened. If that is not
 * enough, only the first and the last rows stay, with the number of the others; the whole answer is then in the artifact.
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

/** Whether the text and all shortened rows fit into an agent's inline limit. */
export function isShortEnough({ content, structured }: TraceAnswer, inlineBytes: number): boolean {
  const room = Math.min(inlineBytes, mostBytes);
  const { call_trace: rows = [], ...rest } = structured;
  if (!Array.isArray(rows) || rows.length * leastRowBytes > room) return false; // so many rows cannot fit
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
  const { args_digest: _digest, duration_ms: _duration, ...rest } = row;
  return rest;
}

function firstAndLast(structured: JsonObject, rows: readonly Json[], room: number): JsonObject {
  const shortenedRows = (first: number, last: number): JsonObject => ({
    ...structured,
    call_trace: [...rows.slice(0, first), ...rows.slice(rows.length - last)],
    call_trace_left_out: { after: first, count: rows.length - first - last, ended: endsOf(rows) },
  });
  let [first, last] = [0, 0];
  let left = room - bytesOf(shortenedRows(0, 0));
  while (first + last < rows.length) {
    const isFirst = first <= last;
    left -= bytesOf(rows[isFirst ? first : rows.length - 1 - last] ?? null) + 1;
    if (left < 0) break;
    if (isFirst) first += 1;
    else last += 1;
  }
  return shortenedRows(first, last);
}

/** Counts how the calls ended: `{ ok: 48, denied: 2 }`. */
function endsOf(rows: readonly Json[]): JsonObject {
  const byStatus = Map.groupBy(rows, (row) => (isJsonObject(row) ? String(row["status"]) : ""));
  return Object.fromEntries([...byStatus].map(([status, all]) => [status, all.length]));
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
