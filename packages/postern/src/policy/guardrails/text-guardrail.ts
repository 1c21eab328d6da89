import { defined, messageOf } from "@postern/core";
import type { RE2JS } from "re2js";
import { globMatcher } from "../rules/glob.ts";
import {
  checkGuardrailOptions,
  findings,
  type PatternGuardrailOptions,
  type PromptInjectionOptions,
} from "./guardrail-options.ts";
import { type ArgumentEffect, type GuardedCall, type Guardrail, invalid, type ResultEffect } from "./guardrails.ts";

interface TextSearch {
  readonly name: string;
  /** What it examines by default. */
  readonly on: "arguments" | "result";
  /** Its finding by default. */
  readonly effect: { readonly arguments: ArgumentEffect; readonly result: ResultEffect };
  readonly ready?: () => Promise<void>;
  /** Why the text is a finding, one sentence each. */
  readonly find: (text: string) => readonly string[];
}

/** A longer text counts as a failure, because a part of it could hide a finding. UTF-16 units. */
export const longestText = 1_000_000;

/** @throws RuntimeFault `options_invalid` */
export function textGuardrail(
  { name, on: usual, effect: usualSays, ready, find }: TextSearch,
  { on = usual, effect = usualSays[on], tools, onFailure }: PromptInjectionOptions,
): Guardrail {
  const allowed: readonly string[] = findings[on];
  if (!allowed.includes(effect))
    throw invalid(`\`effect\` of guardrail \`${name}\` is \`${effect}\`; on ${on} it is one of ${allowed.join(", ")}.`);
  const fits = tools?.map(globMatcher);
  const check = ({ tool, text }: GuardedCall & { readonly text: string }) => {
    if (fits?.some((matches) => matches(tool)) === false) return [];
    if (text.length > longestText)
      throw new RangeError(`the text has ${text.length} characters, more than ${longestText}`);
    return find(text).map((why) => ({ effect, why }));
  };
  return { name, on, check, ...defined({ ready, tools, onFailure }) } as Guardrail; // `effect` fits `on`: checked above
}

/**
 * Finds text by patterns. The time grows with the length of the text only.
 *
 * @example
 * patternGuardrail({ name: "no-iban-out", on: "arguments", effect: "CONFIRM", patterns: ["\\bDE\\d{20}\\b"], tools: ["mail__*"] })
 *
 * @public
 */
export function patternGuardrail(options: PatternGuardrailOptions): Guardrail {
  checkGuardrailOptions("patterns", options, Object(options).name);
  const { name, on, patterns, ignoreCase = false, why = "it has a text that is not allowed" } = options;
  let compiled: readonly RE2JS[] | undefined;
  const ready = async (): Promise<void> => {
    const { RE2JS: Engine } = await import("re2js");
    compiled = patterns.map((pattern) => {
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
  return textGuardrail({ name, on, effect: { arguments: "DENY", result: "WITHHOLD" }, ready, find }, options);
}
