import type { Json, JsonObject } from "../core/json.ts";
import type { ContentBlock, MediaBlock } from "../core/outcome.ts";
import { cut, cutMiddle } from "../results/cut.ts";
import { withBrief } from "../results/raw-result.ts";
import type { End } from "./drive.ts";
import type { CallLine, Journal, PreviewNote, ScriptFile } from "./journal.ts";
import { isShortEnough, lineToWire } from "./trace.ts";

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
