import { isRecord, type Json } from "@postern/core";
import { LostAnswer, withBrief } from "../results/raw-result.ts";
import { toRawResult } from "../tools/answer.ts";

/**
 * What a tool answered, as JSON for the way to the gateway. Bytes become base64. What the gateway reads from it is what it
 * would have read from the answer itself.
 *
 * @param limitBytes the largest answer
 */
export function answerToJson(answer: unknown, limitBytes: number): Json {
  if (answer instanceof LostAnswer) return { lost: answer.why };
  const { content, structured, large, meta, isJsonText, isError, retryable, unusable, brief } = toRawResult(
    answer,
    limitBytes,
  );
  if (unusable === true) return { lost: lostIn(content) };
  if (isJsonText === true && brief === undefined && meta === undefined && !isFilled(structured))
    return { plain: structured ?? null };
  const value = large === undefined ? structured : (JSON.parse(large.text) as Json); // it is the text of JSON
  return {
    result: {
      ...(isJsonText !== true && { content: content as unknown as Json }), // blocks are JSON
      ...(value !== undefined && { structured: value }),
      ...(meta !== undefined && { _meta: meta }),
      isError,
      ...(retryable !== undefined && { retryable }),
    },
    ...(brief !== undefined && { brief: brief as unknown as Json }), // a text and an object of JSON
  };
}

/** A filled object could look like a result, so it travels as a member of one. */
function isFilled(value: Json | undefined): boolean {
  return isRecord(value) && Object.keys(value).length > 0;
}

/** The answer at the gateway. It reads it as it reads the answer of a tool that runs there. */
export function answerFromJson(value: Json): unknown {
  if (!isRecord(value)) return new LostAnswer("the worker sent no answer.");
  const { lost, plain, result, brief } = value;
  if (typeof lost === "string") return new LostAnswer(lost);
  if (!isRecord(result)) return plain;
  if (brief === "whole") return withBrief(result, brief);
  if (!isRecord(brief) || typeof brief["text"] !== "string" || !isRecord(brief["structured"])) return result;
  return withBrief(result, {
    text: brief["text"],
    structured: brief["structured"] as { readonly [name: string]: Json },
  }); // it came as JSON
}

const lostBegin = "The tool ran, but its answer cannot be taken: ";

/** The reason alone: the gateway writes the same sentence around it. */
function lostIn([block]: ReturnType<typeof toRawResult>["content"]): string {
  const text = block !== undefined && "text" in block ? String(block.text) : "";
  return text.startsWith(lostBegin) ? text.slice(lostBegin.length) : text;
}
