import type { RE2JS } from "re2js";
import { messageOf } from "../../core/fault.ts";
import { type ArgumentSays, type Guardrail, invalid, type ResultSays } from "./guardrails.ts";
import { type TextGuardrailOptions, textGuardrail } from "./text-guardrail.ts";

export interface PatternGuardrailOptions extends TextGuardrailOptions {
  readonly name: string;
  readonly on: "arguments" | "result";
  /** RE2 syntax: no look-around, no back-references, and so no pattern and no text can make it hang. */
  readonly patterns: readonly string[];
  /** Default: `DENY` for arguments, `WITHHOLD` for results. */
  readonly says?: ArgumentSays | ResultSays;
  readonly why?: string;
  readonly ignoreCase?: boolean;
}

/**
 * Finds text by patterns, in time that grows with the text alone.
 *
 * @example
 * patternGuardrail({ name: "no-iban-out", on: "arguments", says: "CONFIRM", patterns: ["\\bDE\\d{20}\\b"], tools: ["mail__*"] })
 *
 * @public
 */
export function patternGuardrail(options: PatternGuardrailOptions): Guardrail {
  const { name, on, patterns, ignoreCase = false } = options;
  const { says = on === "arguments" ? "DENY" : "WITHHOLD", why = "it has a text that is not allowed" } = options;
  if (
    !Array.isArray(patterns) ||
    patterns.length === 0 ||
    !patterns.every((one) => typeof one === "string" && one !== "")
  )
    throw invalid(`\`patterns\` of guardrail \`${name}\` is no list of patterns.`);
  let compiled: readonly RE2JS[] | undefined;
  const ready = async (): Promise<void> => {
    const { RE2JS: Engine } = await import("re2js");
    compiled = (patterns as readonly string[]).map((pattern) => {
      try {
        return Engine.compile(pattern, ignoreCase ? Engine.CASE_INSENSITIVE : 0);
      } catch (error) {
        throw invalid(`The pattern \`${pattern}\` of guardrail \`${name}\` is not RE2's: ${messageOf(error)}.`);
      }
    });
  };
  const find = (text: string): readonly string[] => {
    if (compiled === undefined) throw new TypeError("its patterns were not made ready");
    return compiled.some((pattern) => pattern.matcher(text).find()) ? [why] : [];
  };
  return textGuardrail({ name, on, says, ready, find }, options);
}
