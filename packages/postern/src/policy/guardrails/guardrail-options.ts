/** The options of the built-in guardrails: their types, their check, and what a file may write come from here. */

import { checkOptionsBy } from "../../checks/schema-problems.ts";
import { lazySchema, type SchemasOf } from "../../checks/zod.ts";
import { type ArgumentEffect, namePattern, nameRule, type ResultEffect } from "./guardrails.ts";

export type PersonalDataKind = (typeof personalDataKinds)[number];
const personalDataKinds = ["card", "iban", "email", "phone"] as const;

/** By default it examines results. The effect is `MARK` for results and `CONFIRM` for arguments by default. */
export interface PromptInjectionOptions {
  readonly on?: "arguments" | "result";
  /** `DENY`, `CONFIRM` or `RAISE` for arguments, `WITHHOLD` or `MARK` for results. */
  readonly effect?: ArgumentEffect | ResultEffect;
  /** Which tools; `*` stands for anything. Left out: all. */
  readonly tools?: readonly string[];
  readonly onFailure?: "open" | "closed";
}

/** By default it examines arguments. The effect is `CONFIRM` for arguments and `MARK` for results by default. */
export interface PersonalDataOptions extends PromptInjectionOptions {
  /** Default `card` and `iban`, which have check digits; addresses and phone numbers are in every mail. */
  readonly kinds?: readonly PersonalDataKind[];
}

/** The effect is `DENY` for arguments and `WITHHOLD` for results by default. */
export interface PatternGuardrailOptions extends PromptInjectionOptions {
  readonly name: string;
  readonly on: "arguments" | "result";
  /** RE2 syntax: no look-around and no back-references, so no pattern and no text can make it hang. */
  readonly patterns: readonly string[];
  /** The reason that is shown when a pattern fits. */
  readonly why?: string;
  readonly ignoreCase?: boolean;
}

/** What a guardrail can say, by what it examines. */
export const findings: { readonly arguments: readonly ArgumentEffect[]; readonly result: readonly ResultEffect[] } = {
  arguments: ["DENY", "CONFIRM", "RAISE"],
  result: ["WITHHOLD", "MARK"],
};

export const guardrailOptions = lazySchema((zod) => {
  const text = zod.string().min(1);
  const on = zod.enum(["arguments", "result"]);
  const common = {
    effect: zod
      .enum([...findings.arguments, ...findings.result])
      .optional()
      .describe("on arguments DENY, CONFIRM or RAISE; on a result WITHHOLD or MARK"),
    tools: zod.array(text).min(1).optional().describe("which tools; * stands for anything; all by default"),
    onFailure: zod.enum(["open", "closed"]).optional().describe("what its own failure means; closed by default"),
  };
  return {
    promptInjection: zod.strictObject({
      on: on.optional().describe("result by default"),
      ...common,
    } satisfies SchemasOf<PromptInjectionOptions>),
    personalData: zod.strictObject({
      on: on.optional().describe("arguments by default"),
      kinds: zod.array(zod.enum(personalDataKinds)).min(1).optional(),
      ...common,
    } satisfies SchemasOf<PersonalDataOptions>),
    patterns: zod.strictObject({
      on,
      name: zod.string().regex(namePattern, nameRule),
      patterns: zod.array(text).min(1).describe("RE2 syntax: no look-around, no back-references"),
      why: text.optional().describe("the reason that is shown when a pattern fits"),
      ignoreCase: zod.boolean().optional(),
      ...common,
    } satisfies SchemasOf<PatternGuardrailOptions>),
  };
});

/** @throws RuntimeFault `options_invalid` with every mistake in the options of the guardrail with this name, a line each */
export function checkGuardrailOptions(
  kind: keyof ReturnType<typeof guardrailOptions>,
  options: unknown,
  name: unknown,
) {
  const place = (key: string): string => (key === "" ? "The options" : `\`${key}\``);
  checkOptionsBy(guardrailOptions()[kind], options, (key) => `${place(key)} of guardrail \`${String(name)}\``);
}
