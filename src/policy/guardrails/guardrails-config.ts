/** The `guardrails` section of a configuration file (snake_case) and the guardrails it becomes. Only src/config imports this. */
import { z } from "zod";
import type { ArgumentSays, Guardrail, ResultSays } from "./guardrails.ts";
import { patternGuardrail } from "./pattern-guardrail.ts";
import { type PersonalDataKind, personalData } from "./personal-data.ts";
import { promptInjection } from "./prompt-injection.ts";

interface Common {
  readonly says?: ArgumentSays | ResultSays | undefined;
  readonly tools?: readonly string[] | undefined;
  readonly on_failure?: "open" | "closed" | undefined;
}
type On = "arguments" | "result";

export type GuardrailFile =
  | (Common & { readonly use: "prompt_injection"; readonly on?: On | undefined })
  | (Common & {
      readonly use: "personal_data";
      readonly on?: On | undefined;
      readonly kinds?: readonly PersonalDataKind[] | undefined;
    })
  | (Common & {
      readonly use: "patterns";
      readonly on: On;
      readonly name: string;
      readonly patterns: readonly string[];
      readonly why?: string | undefined;
      readonly ignore_case?: boolean | undefined;
    });

const on = z.enum(["arguments", "result"]);
const common = {
  says: z
    .enum(["DENY", "CONFIRM", "RAISE", "WITHHOLD", "MARK"])
    .optional()
    .describe("on arguments DENY, CONFIRM or RAISE; on a result WITHHOLD or MARK"),
  tools: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe("which tools; * stands for anything; all when nothing is said"),
  on_failure: z.enum(["open", "closed"]).optional().describe("what its own failure means; closed when nothing is said"),
};

export const guardrailsSchema: z.ZodType<readonly GuardrailFile[]> = z.array(
  z.discriminatedUnion("use", [
    z.strictObject({
      use: z.literal("prompt_injection").describe("common phrases that give orders to a model"),
      on: on.optional().describe("result when nothing is said"),
      ...common,
    }),
    z.strictObject({
      use: z.literal("personal_data").describe("card numbers, IBANs; mail addresses and phone numbers when asked for"),
      on: on.optional().describe("arguments when nothing is said"),
      kinds: z
        .array(z.enum(["card", "iban", "email", "phone"]))
        .min(1)
        .optional(),
      ...common,
    }),
    z.strictObject({
      use: z.literal("patterns").describe("text that you describe"),
      on,
      name: z.string().regex(/^[\w.-]{1,64}$/, "Use 1 to 64 letters, digits, _, . and -."),
      patterns: z.array(z.string().min(1)).min(1).describe("RE2 syntax: no look-around, no back-references"),
      why: z.string().min(1).optional().describe("what is told when one fits"),
      ignore_case: z.boolean().optional(),
      ...common,
    }),
  ]),
);

/** @throws RuntimeFault `guardrail_invalid` */
export function guardrailsFrom(list: readonly GuardrailFile[]): readonly Guardrail[] {
  return list.map(guardrailFrom);
}

function guardrailFrom(file: GuardrailFile): Guardrail {
  const { says, tools, on_failure: onFailure } = file;
  const terms = {
    ...(says !== undefined && { says }),
    ...(tools !== undefined && { tools }),
    ...(onFailure !== undefined && { onFailure }),
  };
  switch (file.use) {
    case "prompt_injection":
      return promptInjection({ ...terms, ...(file.on !== undefined && { on: file.on }) });
    case "personal_data":
      return personalData({
        ...terms,
        ...(file.on !== undefined && { on: file.on }),
        ...(file.kinds !== undefined && { kinds: file.kinds }),
      });
    case "patterns":
      return patternGuardrail({
        ...terms,
        ...{ on: file.on, name: file.name, patterns: file.patterns, ignoreCase: file.ignore_case === true },
        ...(file.why !== undefined && { why: file.why }),
      });
    default:
      return file satisfies never;
  }
}
