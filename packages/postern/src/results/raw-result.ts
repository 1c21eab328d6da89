import type { ContentBlock, Json, JsonObject } from "@postern/core";
import type { LargeJson } from "./large-json.ts";

/** A tool's answer in one shape, before it is redacted and cut. */
export interface RawResult {
  readonly content: readonly ContentBlock[];
  readonly structured?: Json;
  /** The structured content of a large answer; `structured` is undefined then. */
  readonly large?: LargeJson;
  /** MCP's `_meta` of the result. */
  readonly meta?: JsonObject;
  /** The one block of content is the JSON text of `structured`, as `JSON.stringify` writes it. */
  readonly isJsonText?: true;
  readonly isError: boolean;
  /** With `isError`: the same call may be tried again. */
  readonly retryable?: boolean;
  /** The tool ran, but its answer is unusable: a cycle, a function. */
  readonly unusable?: true;
  /** What stays inline when the result is too big and is kept; `whole`: all of it. By default the beginning of the text, and a summary. */
  readonly brief?: Brief | "whole";
  readonly readOn?: ReadOn;
}

/**
 * How the tool itself reads on after the part of its text that is shown, as the end of a sentence. Returns undefined if
 * that is not certain.
 */
export type ReadOn = (shown: string) => string | undefined;

/** The part of a big result that must always be read. Its author keeps it short. */
export interface Brief {
  readonly text: string;
  readonly structured: JsonObject;
}

const briefs = new WeakMap<object, Brief | "whole">();

/** Marks the part of an answer that must not be cut. Only this function can mark it, untrusted JSON cannot. */
export function withBrief<Answer extends object>(answer: Answer, brief: Brief | "whole"): Answer {
  briefs.set(answer, brief);
  return answer;
}

export function briefOf(answer: object): Brief | "whole" | undefined {
  return briefs.get(answer);
}

const continuations = new WeakMap<object, ReadOn>();

/**
 * For an answer of a tool that can be called again for the rest. Untrusted JSON cannot say it.
 *
 * @example
 * return withReadOn({ content: [{ type: "text", text }] }, (shown) => `call again with \`first_line: ${next(shown)}\``);
 *
 * @public
 */
export function withReadOn<Answer extends object>(answer: Answer, readOn: ReadOn): Answer {
  continuations.set(answer, readOn);
  return answer;
}

export function readOnOf(answer: object): ReadOn | undefined {
  return continuations.get(answer);
}

/**
 * The largest answer, counted as its JSON text with media as base64. A model reads a thousandth of it. A structured
 * value needs about ten times as much memory as its text, so a process of 1 GB can hold several at once.
 */
export const mostAnswerBytes: number = 32 * 2 ** 20;

/** Smaller limits would refuse ordinary answers; larger ones would not fit into one text. */
export const answerBytesRange: { readonly from: number; readonly to: number } = { from: 64 * 1024, to: 256 * 2 ** 20 };

/** The tool ran, but its answer cannot be accepted. Only Postern's code can make it; untrusted JSON cannot. */
export class LostAnswer {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/** @param setting the limit that was exceeded */
export function tooManyBytes(limitBytes: number, setting: AnswerLimit = "results.max_bytes"): string {
  return `more than ${limitBytes} bytes, the most that is taken (\`${setting}\`)`;
}

export type AnswerLimit = "results.max_bytes" | "results.max_artifact_bytes";
