import type { Json, JsonObject } from "../core/json.ts";
import type { ContentBlock } from "../core/outcome.ts";
import type { LargeJson } from "./large-json.ts";

/** What a tool answered, in one shape, before it is redacted and cut. */
export interface RawResult {
  readonly content: readonly ContentBlock[];
  readonly structured?: Json;
  /** The structured content of a large answer; `structured` is undefined then. */
  readonly large?: LargeJson;
  /** The one block of content is the JSON text of `structured`, as `JSON.stringify` writes it. */
  readonly isJsonText?: true;
  readonly isError: boolean;
  /** With `isError`: the same call may be tried again. */
  readonly retryable?: boolean;
  /** The tool ran, and what it answered is no answer at all: a cycle, a function. */
  readonly unusable?: true;
  /** Stands inline where all of it is too big and is kept; `whole`: it stands there as it is. None: the head of the text, and a summary. */
  readonly brief?: Brief | "whole";
}

/** The part that must be read even of a result that is too big. Its maker keeps it short. */
export interface Brief {
  readonly text: string;
  readonly structured: JsonObject;
}

const briefs = new WeakMap<object, Brief | "whole">();

/** An answer that says itself what of it must not be cut. Only what this marked counts: a stranger's JSON cannot. */
export function withBrief<Answer extends object>(answer: Answer, brief: Brief | "whole"): Answer {
  briefs.set(answer, brief);
  return answer;
}

export function briefOf(answer: object): Brief | "whole" | undefined {
  return briefs.get(answer);
}

/**
 * What one answer may have, as the JSON text it would be and with its media as base64. A model reads a thousandth of it;
 * with what a structured value takes beside its text (about ten times as much) a process of 1 GB survives several at once.
 */
export const mostAnswerBytes: number = 32 * 2 ** 20;

/** Below it an ordinary answer would be none; above it one text could not hold it. */
export const answerBytesRange: { readonly from: number; readonly to: number } = { from: 64 * 1024, to: 256 * 2 ** 20 };

/** The tool ran and its answer cannot be taken. Only our own code makes this; third-party JSON cannot. */
export class LostAnswer {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/** @param setting which limit it is */
export function tooManyBytes(limitBytes: number, setting: AnswerLimit = "results.max_bytes"): string {
  return `more than ${limitBytes} bytes, the most that is taken (\`${setting}\`)`;
}

export type AnswerLimit = "results.max_bytes" | "results.max_artifact_bytes";
