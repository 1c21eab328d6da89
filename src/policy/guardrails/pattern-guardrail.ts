import type { RE2JS } from "re2js";
import { messageOf } from "../../calls/fault.ts";
import { globMatcher } from "../rules/glob.ts";
import { type ArgumentSays, type GuardedCall, type Guardrail, invalid, type ResultSays } from "./guardrails.ts";

export interface PatternGuardrailOptions {
  readonly name: string;
  readonly on: "arguments" | "result";
  /** RE2 syntax: no look-around, no back-references, and so no pattern and no text can make it hang. */
  readonly patterns: readonly string[];
  /** Default: `DENY` for arguments, `WITHHOLD` for results. */
  readonly says?: ArgumentSays | ResultSays;
  readonly why?: string;
  readonly ignoreCase?: boolean;
  /** Which tools; `*` stands for anything. Left out: all. */
  readonly tools?: readonly string[];
  readonly onFailure?: "open" | "closed";
}

/** A text longer than this counts as a failure: half a look is none. UTF-16 units. */
export const longestText = 1_000_000;

/**
 * Finds text by patterns, in time that grows with the text alone.
 *
 * @example
 * patternGuardrail({ name: "no-iban-out", on: "arguments", says: "CONFIRM", patterns: ["\\bDE\\d{20}\\b"], tools: ["mail__*"] })
 *
 * @public
 */
export function patternGuardrail(options: PatternGuardrailOptions): Guardrail {
  const { name, on, patterns, ignoreCase = false, onFailure } = options;
  const { says = on === "arguments" ? "DENY" : "WITHHOLD", why = "it has a text that is not allowed" } = options;
  checkSays(name, on, says);
  if (
    !Array.isArray(patterns) ||
    patterns.length === 0 ||
    !patterns.every((one) => typeof one === "string" && one !== "")
  )
    throw invalid(`\`patterns\` of guardrail \`${name}\` is no list of patterns.`);
  const speaksOf = toolTest(options.tools);
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
  const check = (subject: GuardedCall & { readonly text: string }): readonly { says: typeof says; why: string }[] => {
    if (!speaksOf(subject)) return [];
    if (compiled === undefined) throw new TypeError("its patterns were not made ready");
    checkLength(subject.text);
    return compiled.some((pattern) => pattern.matcher(subject.text).find()) ? [{ says, why }] : [];
  };
  return {
    name,
    on,
    ready,
    check,
    ...(options.tools !== undefined && { tools: options.tools }),
    ...(onFailure !== undefined && { onFailure }),
  } as Guardrail; // `says` fits `on`: checked above
}

export function checkSays(name: string, on: unknown, says: unknown): void {
  const allowed: readonly unknown[] = on === "arguments" ? ["DENY", "CONFIRM", "RAISE"] : ["WITHHOLD", "MARK"];
  if (on !== "arguments" && on !== "result")
    throw invalid(`\`on\` of guardrail \`${name}\` is \`${String(on)}\`; it is arguments or result.`);
  if (!allowed.includes(says))
    throw invalid(
      `\`says\` of guardrail \`${name}\` is \`${String(says)}\`; on ${on} it is one of ${allowed.join(", ")}.`,
    );
}

/** @throws RangeError where a look would have to be cut short */
export function checkLength(text: string): void {
  if (text.length > longestText)
    throw new RangeError(`the text has ${text.length} characters, more than ${longestText}`);
}

export function toolTest(tools: readonly string[] | undefined): (call: GuardedCall) => boolean {
  if (tools === undefined) return () => true;
  const fits = tools.map(globMatcher);
  return ({ tool }) => fits.some((matches) => matches(tool));
}
