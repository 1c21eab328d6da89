import { defined, messageOf } from "@postern/core";
import type { RE2JS } from "re2js";
import { globMatcher } from "../rules/glob.ts";
import { type ArgumentEffect, type GuardedCall, type Guardrail, invalid, type ResultEffect } from "./guardrails.ts";

/** The options that all built-in guardrails have. */
export interface TextGuardrailOptions {
  readonly on?: "arguments" | "result";
  readonly effect?: ArgumentEffect | ResultEffect;
  /** Which tools; `*` stands for anything. Left out: all. */
  readonly tools?: readonly string[];
  readonly onFailure?: "open" | "closed";
}

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
  { on = usual, effect = usualSays[on], tools, onFailure }: TextGuardrailOptions,
): Guardrail {
  if (on !== "arguments" && on !== "result")
    throw invalid(`\`on\` of guardrail \`${name}\` is \`${String(on)}\`; it is arguments or result.`);
  const allowed: readonly string[] = on === "arguments" ? ["DENY", "CONFIRM", "RAISE"] : ["WITHHOLD", "MARK"];
  if (!allowed.includes(effect))
    throw invalid(
      `\`effect\` of guardrail \`${name}\` is \`${String(effect)}\`; on ${on} it is one of ${allowed.join(", ")}.`,
    );
  const fits = tools?.map(globMatcher);
  const check = ({ tool, text }: GuardedCall & { readonly text: string }) => {
    if (fits?.some((matches) => matches(tool)) === false) return [];
    if (text.length > longestText)
      throw new RangeError(`the text has ${text.length} characters, more than ${longestText}`);
    return find(text).map((why) => ({ effect, why }));
  };
  return { name, on, check, ...defined({ ready, tools, onFailure }) } as Guardrail; // `says` fits `on`: checked above
}

export interface PatternGuardrailOptions extends TextGuardrailOptions {
  readonly name: string;
  readonly on: "arguments" | "result";
  /** RE2 syntax: no look-around and no back-references, so no pattern and no text can make it hang. */
  readonly patterns: readonly string[];
  /** Default: `DENY` for arguments, `WITHHOLD` for results. */
  readonly effect?: ArgumentEffect | ResultEffect;
  readonly why?: string;
  readonly ignoreCase?: boolean;
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
  const { name, on, patterns, ignoreCase = false, why = "it has a text that is not allowed" } = options;
  const isPattern = (one: unknown): boolean => typeof one === "string" && one !== "";
  if (!Array.isArray(patterns) || patterns.length === 0 || !patterns.every(isPattern))
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
  return textGuardrail({ name, on, effect: { arguments: "DENY", result: "WITHHOLD" }, ready, find }, options);
}
