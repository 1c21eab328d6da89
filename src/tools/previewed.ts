import { messageOf } from "../calls/fault.ts";
import type { Json } from "../calls/json.ts";
import type { Preview } from "../calls/outcome.ts";
import { isRecord } from "./kinds.ts";
import { plain, shortened } from "./plain.ts";

/** A person reads it, a record keeps it: more than this is cut. */
const maxTextLength = 65_536;

/**
 * What a tool's preview answered, as a Preview. `null` means it offers none for this call (SPEC 4.7).
 *
 * @param call the call in a few words: what is shown when there is nothing else
 * Contract: never throws.
 */
export function toPreview(answer: unknown, call: string): Preview {
  if (answer === null || answer === undefined) return noPreview(call);
  try {
    if (typeof answer === "string") return { summary: cut(answer), supported: true };
    if (!isRecord(answer))
      return noPreview(
        call,
        `the tool's preview answered with ${Array.isArray(answer) ? "a list" : `a ${typeof answer}`}`,
      );
    if (answer["supported"] === false)
      return noPreview(call, typeof answer["problem"] === "string" ? cut(answer["problem"]) : undefined);
    const { summary, diff } = answer;
    if (typeof summary !== "string") return noPreview(call, "the tool's preview has no `summary`");
    const details = detailsOf(answer["details"]);
    return {
      summary: cut(summary),
      ...(typeof diff === "string" && { diff: cut(diff) }),
      ...(details !== undefined && { details }),
      supported: true,
    };
  } catch (error) {
    return noPreview(call, `the tool's preview cannot be shown: ${cut(messageOf(error))}`);
  }
}

/** @param problem why there is none although the tool offers one; without it, the tool offers none */
export function noPreview(call: string, problem?: string): Preview {
  return { summary: call, supported: false, ...(problem !== undefined && { problem }) };
}

function detailsOf(details: unknown): Json | undefined {
  if (details === undefined) return undefined;
  const { text, value } = plain(details);
  return text.length > maxTextLength || value === undefined ? cut(text) : value;
}

function cut(text: string): string {
  return shortened(text, maxTextLength);
}
