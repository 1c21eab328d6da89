import { isPlainText, messageOf, type Refusal, refusal, refusedOutcome, type ToolOutcome } from "@postern/core";
import type { Redactor } from "../secrets/secret-store.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import { type CleanResult, cleanLongResult, cleanResult, cleanText, isLongResult } from "./clean.ts";
import { cut } from "./cut.ts";
import { isSmall, keepAsArtifacts, type ShapedAnswer, type ShapeOrder } from "./keep.ts";
import { noArtifacts } from "./own-artifacts.ts";
import type { RawResult } from "./raw-result.ts";
import { fitsReadable } from "./readable.ts";

export interface ShapeParts {
  /** Without it, or with `noArtifacts`, everything stays inline. */
  readonly artifacts?: ArtifactStore | undefined;
  readonly redactor: Redactor;
  /** Gets the reason why a result could not be kept; the caller only learns that it was not. */
  readonly log?: ((problem: string) => void) | undefined;
}

/** Length of a failed call's own text in its refusal. */
const failureBytes = 500;

/**
 * Turns a tool's answer into the result that is returned: redacted first, then inline when it is small, else kept as
 * one artifact with the beginning of its text inline. Media always become references where there is a store.
 * Contract: never throws or rejects. The tool has run, so a result that cannot be kept is `result_unavailable`, and
 * what was pinned before stays recorded in the session. Synchronous unless something is kept.
 */
export function shape(raw: RawResult, order: ShapeOrder, parts: ShapeParts): ToolOutcome | Promise<ToolOutcome> {
  const { redactor } = parts;
  const artifacts = storeIn(parts);
  const { callId, limitBytes } = order;
  try {
    const [only] = raw.content;
    if (isLongResult(raw)) return longOutcome({ raw, order, parts });
    const isBare = raw.meta === undefined;
    if (isBare && isPlainText(only) && raw.content.length === 1 && raw.structured === undefined) {
      const text = cleanText(only.text, redactor);
      if (artifacts === undefined || fitsReadable(text, limitBytes)) return textOutcome(callId, raw, text);
    }
    if (isBare && isPlainText(only) && raw.isJsonText === true && isClean(only.text, redactor)) {
      if (artifacts === undefined || fitsReadable(only.text, limitBytes))
        return jsonTextOutcome(callId, raw, only.text);
    }
    return shaped({ raw, order, parts }, cleanResult(raw, redactor));
  } catch (error) {
    return unkeptResult({ raw, order, parts }, error);
  }
}

/** One result that is not small. */
interface ShapeTask {
  readonly raw: RawResult;
  readonly order: ShapeOrder;
  readonly parts: ShapeParts;
}

function shaped(task: ShapeTask, result: CleanResult): ToolOutcome | Promise<ToolOutcome> {
  const { raw, order, parts } = task;
  const artifacts = storeIn(parts);
  const { content, text, structured, meta } = result;
  const notKept = meta && { meta };
  if (artifacts === undefined || raw.brief === "whole" || isSmall(result, order)) {
    const value = structured && { structured: structured.value };
    return outcome(order.callId, failureOf(raw, text), { content, text, ...value, ...notKept });
  }
  return keepAsArtifacts(result, order, artifacts).then(
    (kept) => outcome(order.callId, failureOf(raw, text), { ...kept, ...notKept }),
    (error: unknown) => unkeptResult(task, error, text),
  );
}

function storeIn({ artifacts }: ShapeParts): ArtifactStore | undefined {
  return artifacts === noArtifacts ? undefined : artifacts;
}

async function longOutcome(shaping: ShapeTask): Promise<ToolOutcome> {
  try {
    return await shaped(shaping, await cleanLongResult(shaping.raw, shaping.parts.redactor));
  } catch (error) {
    return unkeptResult(shaping, error);
  }
}

/** The usual result, made in one step. */
function textOutcome(callId: string, raw: RawResult, text: string): ToolOutcome {
  if (raw.isError) return outcome(callId, failureOf(raw, text), { content: [{ type: "text", text }], text });
  return { status: "ok", callId, content: [{ type: "text", text }], text };
}

/** Structured content whose JSON is the text. It is searched once. */
function jsonTextOutcome(callId: string, { structured = null }: RawResult, text: string): ToolOutcome {
  return { status: "ok", callId, content: [{ type: "text", text }], text, structured };
}

/** Whether `cleanText` and `cleanJson` would leave the JSON text unchanged. */
function isClean(json: string, redactor: Redactor): boolean {
  return redactor.redact(json) === json && !json.includes("\\u0000") && !json.includes("\\ud");
}

function outcome(callId: string, failure: Refusal | undefined, shaped: ShapedAnswer): ToolOutcome {
  if (failure === undefined) return { status: "ok", callId, ...shaped };
  return { status: "error", callId, ...shaped, refusal: failure };
}

/** @param text redacted */
function failureOf(raw: RawResult, text: string): Refusal | undefined {
  if (!raw.isError) return undefined;
  const message = cut(text.trim(), failureBytes);
  const refused = message === "" ? refusal("tool_failed") : refusal("tool_failed", message);
  return raw.retryable === true ? { ...refused, retry: "later" } : refused;
}

/** @param text redacted; undefined when redacting failed */
function unkeptResult({ raw, order: { callId }, parts }: ShapeTask, error: unknown, text = ""): ToolOutcome {
  parts.log?.(`The result of \`${callId}\` could not be kept: ${messageOf(error)}.`);
  return refusedOutcome(callId, "error", failureOf(raw, text) ?? refusal("result_unavailable"));
}
