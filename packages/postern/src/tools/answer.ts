import { type ContentBlock, isJsonObject, isRecord, maxDepth, messageOf } from "@postern/core";
import { fits } from "../results/cut.ts";
import { LargeJson } from "../results/large-json.ts";
import {
  type AnswerLimit,
  briefOf,
  LostAnswer,
  mostAnswerBytes,
  type RawResult,
  readOnOf,
} from "../results/raw-result.ts";
import { blockOf } from "./blocks.ts";
import { type Plain, plain, TooManyBytes, weighed } from "./schema/plain.ts";

/** Members of an answer that is a result, in camelCase, MCP's names and snake_case. An object with any other member is plain JSON. */
const resultMembers: ReadonlySet<string> = new Set([
  ...["content", "structured", "structuredContent", "structured_content", "isError", "is_error", "retryable"],
  ...["metadata", "_meta", "text", "kind", "callId", "call_id", "name"],
]);

/**
 * A tool's answer in one shape. Text is text; a result stays a result; any other JSON is structured content and its text.
 *
 * Contract: never throws. A value that is no JSON (a cycle, a bigint, a function), or that has more than `limitBytes` as JSON,
 * becomes an error result. It is found early, however large the value is.
 *
 * @param textBytes the limit of text and media
 */
export function toRawResult(
  answer: unknown,
  limitBytes: number = mostAnswerBytes,
  textBytes: number = limitBytes,
): RawResult {
  try {
    if (typeof answer === "string")
      return { content: contentOf(within(answer, textBytes, limitBytes)), isError: false };
    if (answer === undefined || answer === null) return { content: [], isError: false };
    if (answer instanceof LostAnswer) return failed(answer.why);
    if (answer instanceof Uint8Array) {
      if (answer.byteLength > (limitBytes / 4) * 3) throw new TooManyBytes(limitBytes);
      return { content: [blockOf(answer)], isError: false };
    }
    return isResult(answer, limitBytes)
      ? fromResult(answer, limitBytes, textBytes)
      : jsonResult(jsonOf(answer, limitBytes, limitBytes));
  } catch (error) {
    return unusable(error);
  }
}

function within(text: string, textBytes: number, limitBytes: number): string {
  if (fits(text, textBytes)) return text;
  throw new TooManyBytes(textBytes, settingOf(textBytes, limitBytes));
}

/** Without a store, one limit holds for everything. */
function settingOf(textBytes: number, limitBytes: number): AnswerLimit {
  return textBytes === limitBytes ? "results.max_bytes" : "results.max_artifact_bytes";
}

/** Blocks are flat. A deeper value in a block becomes JSON. */
const blockLevels = 100;
/** The smallest block that can have content. */
const leastBlockBytes = 16;

function isResult(answer: unknown, limitBytes: number): answer is Record<string, unknown> {
  if (!isRecord(answer)) return false;
  const { content } = answer;
  if (Array.isArray(content) && content.length > limitBytes / leastBlockBytes) throw new TooManyBytes(limitBytes);
  const named = typeof isErrorOf(answer) === "boolean" || structuredOf(answer) !== undefined;
  const listed =
    Array.isArray(content) && content.every((block) => isRecord(block) && typeof block["type"] === "string");
  if (!(listed || (named && (content === undefined || typeof content === "string")))) return false;
  return Object.keys(answer).every((name) => resultMembers.has(name));
}

function fromResult(answer: Record<string, unknown>, limitBytes: number, textBytes: number): RawResult {
  const { content, text } = answer;
  const given = structuredOf(answer);
  const blocks = content ?? text;
  const left = blocks === undefined ? textBytes : weighed(blocks, textBytes, blockLevels);
  if (left < 0) throw new TooManyBytes(textBytes, settingOf(textBytes, limitBytes));
  const room = Number.isNaN(left) ? limitBytes : Math.min(left, limitBytes);
  const { _meta: meta } = answer;
  if (given instanceof LargeJson) {
    if (!fits(given.text, room)) throw new TooManyBytes(limitBytes);
    const own = contentOf(blocks);
    const content = own.length === 0 ? [{ type: "text" as const, text: given.text }] : own;
    return withMeta({ content, large: given, isError: isErrorOf(answer) === true }, meta);
  }
  return withMeta(resultOf(answer, given === undefined ? undefined : jsonOf(given, limitBytes, room)), meta);
}

/** In bytes of JSON. A client reads a few keys of it, and it stays in the stored outcome. */
const mostMetaBytes = 64 * 1024;

/** A `_meta` that cannot be taken costs only itself: the tool has run. */
function withMeta(result: RawResult, given: unknown): RawResult {
  if (!isRecord(given) || isEmptyRecord(given)) return result;
  try {
    const { text, value } = plain(given, mostMetaBytes);
    if (!isJsonObject(value)) throw new RangeError(`it is nested deeper than ${maxDepth} levels`);
    if (!fits(text, mostMetaBytes)) throw new RangeError(`it has more than ${mostMetaBytes} bytes`);
    return { ...result, meta: value };
  } catch (error) {
    const why = error instanceof TooManyBytes ? `it has more than ${mostMetaBytes} bytes` : messageOf(error);
    const { isJsonText: _, ...rest } = result;
    const note = `Note from Postern: the \`_meta\` of the result is left out: ${why.slice(0, 200)}.`;
    return { ...rest, content: [...result.content, ...contentOf(note)] };
  }
}

function resultOf(answer: Record<string, unknown>, structured: Plain | undefined): RawResult {
  const { content, text, retryable } = answer;
  const isError = isErrorOf(answer) === true;
  const brief = briefOf(answer);
  const readOn = readOnOf(answer);
  const blocks = contentOf(content ?? text);
  if (!isError && blocks.length === 0 && isFilled(structured)) {
    return { content: contentOf(structured.text), structured: structured.value, isJsonText: true, isError };
  }
  return {
    content: blocks.length === 0 && structured !== undefined ? contentOf(structured.text) : blocks,
    ...(structured?.value !== undefined && !isEmptyRecord(structured.value) && { structured: structured.value }),
    isError,
    ...(isError && typeof retryable === "boolean" && { retryable }),
    ...(brief !== undefined && { brief }),
    ...(readOn !== undefined && { readOn }),
  };
}

/** @param left what its blocks have left of the limit */
function jsonOf(given: unknown, limitBytes: number, left: number): Plain {
  const made = plain(given, left);
  if (!fits(made.text, left)) throw new TooManyBytes(limitBytes);
  return made;
}

function isFilled(structured: Plain | undefined): structured is Required<Plain> {
  return typeof structured?.value === "object" && structured.value !== null && !isEmptyRecord(structured.value);
}

function contentOf(content: unknown): readonly ContentBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content.toWellFormed() }];
  return Array.isArray(content) ? content.map(blockOf) : [];
}

function jsonResult({ text, value }: Plain): RawResult {
  const isText = typeof value === "string";
  const content = contentOf(isText ? value : text);
  if (value === undefined) return { content, isError: false };
  return isText
    ? { content, structured: value, isError: false }
    : { content, structured: value, isJsonText: true, isError: false };
}

/** Results in snake_case always have `structured_content`, which may be empty. */
function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

function isErrorOf(answer: Record<string, unknown>): unknown {
  return answer["isError"] ?? answer["is_error"];
}

function structuredOf(answer: Record<string, unknown>): unknown {
  return answer["structured"] ?? answer["structuredContent"] ?? answer["structured_content"];
}

function unusable(error: unknown): RawResult {
  if (/call stack/.test(messageOf(error))) return failed("it is nested too deeply to be written as JSON.");
  return failed(messageOf(error).slice(0, 500));
}

function failed(why: string): RawResult {
  const text = `The tool ran, but its answer cannot be taken: ${why}`;
  return { content: [{ type: "text", text }], isError: true, unusable: true };
}
