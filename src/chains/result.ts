import type { Json, JsonObject } from "../calls/json.ts";
import type { ContentBlock, MediaBlock } from "../calls/outcome.ts";
import type { End } from "./drive.ts";
import { type CallLine, type Journal, lineToWire, type ScriptFile } from "./journal.ts";

/** What `tool_chain` answers: the script's words for the model, and SPEC 3.8's ChainRunResult. */
export interface ChainAnswer {
  readonly content: readonly ContentBlock[];
  readonly structured: JsonObject;
  readonly isError: boolean;
}

const longestError = 2000;
const longestToldError = 500;
const mostFiles = 20;
const mostTold = 12;

export function chainAnswer(
  end: Extract<End, { end: "done" | "failed" }>,
  journal: Journal,
  durationMs: number,
  engine: string | undefined,
): ChainAnswer {
  const output = end.end === "done" ? outputOf(end.value) : "";
  const files = filesOf(end, journal);
  const calls = journal.callCount;
  const error = end.end === "failed" ? cut(errorOf(end), longestError) : null;
  const told = [journal.logs, output, error === null ? "" : cut(error, longestToldError), tail(end, journal.lines)];
  const sum = `[chain: ${calls} tool ${calls === 1 ? "call" : "calls"} in ${Math.round(durationMs)} ms]`;
  const text = [...told.filter((part) => part !== ""), sum].join("\n");
  const result: Record<string, Json> = {
    status: end.end === "done" ? "ok" : isTimeout(end.why) ? "timeout" : "error",
    output_text: output,
    output_blocks_refs: files.map(({ artifact }) => artifact),
    logs: journal.logs,
    tool_calls: calls,
    duration_ms: Math.round(durationMs),
    error,
    call_trace: journal.lines.map(lineToWire),
  };
  if (engine !== undefined) result["engine"] = engine;
  if (end.end === "failed") {
    result["error_kind"] = end.why;
    if (end.line !== undefined) result["error_line"] = end.line;
  }
  return {
    content: [{ type: "text", text }, ...files.map(blockOf)],
    structured: result,
    isError: end.end === "failed",
  };
}

/** Which files of the script go back: those it put, and those its answer names. */
export function filesOf(end: End, journal: Journal): readonly ScriptFile[] {
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
  const shown = lines.slice(0, mostTold).map(({ tool, status, code }) => `${tool} ${code ?? status}`);
  const more = lines.length > mostTold ? `, … (${lines.length} in all)` : "";
  return `It had called: ${shown.join(", ")}${more}.`;
}

function blockOf({ artifact, mediaType }: ScriptFile): MediaBlock {
  const [kind] = mediaType.split("/", 1);
  return { type: kind === "image" || kind === "audio" ? kind : "file", mediaType, artifact };
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).toWellFormed()}…`;
}
