import { messageOf } from "../calls/fault.ts";
import type { Json } from "../calls/json.ts";
import type { ContentBlock } from "../calls/outcome.ts";
import { briefOf, type RawResult } from "../results/raw-result.ts";
import { blockOf } from "./blocks.ts";
import { isRecord } from "./kinds.ts";
import { type Plain, plain } from "./plain.ts";

/** Members of an answer that is a result, in our spelling, MCP's and [000]'s. An object with any other member is plain JSON. */
const resultMembers: ReadonlySet<string> = new Set([
  ...[
    "content",
    "structured",
    "structuredContent",
    "structured_content",
    "isError",
    "is_error",
    "retryable",
    "metadata",
    "_meta",
    "text",
  ],
  ...["kind", "callId", "call_id", "name"],
]);

/**
 * What a tool answered, in one shape. Text is text; a result is taken as one; any other JSON is structured content and
 * its own text.
 *
 * Contract: never throws. What is no JSON (a cycle, a bigint, a function, more than a text can hold) is an error that says so.
 */
export function toRawResult(answer: unknown): RawResult {
  try {
    if (typeof answer === "string") return { content: contentOf(answer), isError: false };
    if (answer === undefined || answer === null) return { content: [], isError: false };
    if (answer instanceof Uint8Array) return { content: [blockOf(answer)], isError: false };
    return isResult(answer) ? fromResult(answer) : fromJson(answer);
  } catch (error) {
    return failed(`The tool ran, but its answer cannot be taken: ${messageOf(error).slice(0, 500)}`);
  }
}

function isResult(answer: unknown): answer is Record<string, unknown> {
  if (!isRecord(answer)) return false;
  const { content } = answer;
  const named = typeof isErrorOf(answer) === "boolean" || structuredOf(answer) !== undefined;
  const listed =
    Array.isArray(content) && content.every((block) => isRecord(block) && typeof block["type"] === "string");
  if (!(listed || (named && (content === undefined || typeof content === "string")))) return false;
  return Object.keys(answer).every((name) => resultMembers.has(name));
}

function fromResult(answer: Record<string, unknown>): RawResult {
  const { content, text, retryable } = answer;
  const isError = isErrorOf(answer) === true;
  const given = structuredOf(answer);
  const structured = given === undefined ? undefined : plain(given);
  const brief = briefOf(answer);
  const blocks = contentOf(content ?? text);
  if (!isError && blocks.length === 0 && isSpelled(structured)) {
    return { content: contentOf(structured.text), structured: structured.value, spelled: true, isError };
  }
  return {
    content: blocks.length === 0 && structured !== undefined ? contentOf(structured.text) : blocks,
    ...(structured?.value !== undefined && !isEmptyRecord(structured.value) && { structured: structured.value }),
    isError,
    ...(isError && typeof retryable === "boolean" && { retryable }),
    ...(brief !== undefined && { brief }),
  };
}

function isSpelled(structured: Plain | undefined): structured is Required<Plain> {
  return typeof structured?.value === "object" && structured.value !== null && !isEmptyRecord(structured.value);
}

function contentOf(content: unknown): readonly ContentBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content.toWellFormed() }];
  return Array.isArray(content) ? content.map(blockOf) : [];
}

function fromJson(answer: unknown): RawResult {
  const { text, value } = plain(answer);
  const isText = typeof value === "string";
  const content = contentOf(isText ? value : text);
  if (value === undefined) return { content, isError: false };
  return isText
    ? { content, structured: value, isError: false }
    : { content, structured: value, spelled: true, isError: false };
}

/** [000]'s results always have `structured_content`, empty when there is none. */
function isEmptyRecord(value: Json): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

function isErrorOf(answer: Record<string, unknown>): unknown {
  return answer["isError"] ?? answer["is_error"];
}

function structuredOf(answer: Record<string, unknown>): unknown {
  return answer["structured"] ?? answer["structuredContent"] ?? answer["structured_content"];
}

function failed(text: string): RawResult {
  return { content: [{ type: "text", text }], isError: true, unusable: true };
}
