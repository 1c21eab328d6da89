/** The `guardrails` section of a configuration file (snake_case) and the guardrails it becomes. Only packages/postern/src/config imports this. */

import type { CamelCased } from "@postern/core";
import { z } from "zod";
import type { Guardrail } from "./guardrails.ts";
import { personalData } from "./personal-data.ts";
import { promptInjection } from "./prompt-injection.ts";
import { patternGuardrail } from "./text-guardrail.ts";

const on = z.enum(["arguments", "result"]);
const common = {
  effect: z
    .enum(["DENY", "CONFIRM", "RAISE", "WITHHOLD", "MARK"])
    .exactOptional()
    .describe("on arguments DENY, CONFIRM or RAISE; on a result WITHHOLD or MARK"),
  tools: z
    .array(z.string().min(1))
    .min(1)
    .exactOptional()
    .describe("which tools; * stands for anything; all by default"),
  on_failure: z.enum(["open", "closed"]).exactOptional().describe("what its own failure means; closed by default"),
};

/** The built-in guardrails by `use`, each with its options. */
export const guardrailsSchema = z.array(
  z.discriminatedUnion("use", [
    z.strictObject({
      use: z.literal("prompt_injection").describe("common phrases that give orders to a model"),
      on: on.exactOptional().describe("result by default"),
      ...common,
    }),
    z.strictObject({
      use: z.literal("personal_data").describe("card numbers, IBANs; mail addresses and phone numbers when asked for"),
      on: on.exactOptional().describe("arguments by default"),
      kinds: z
        .array(z.enum(["card", "iban", "email", "phone"]))
        .min(1)
        .exactOptional(),
      ...common,
    }),
    z.strictObject({
      use: z.literal("patterns").describe("text that you describe"),
      on,
      name: z.string().regex(/^[\w.-]{1,64}$/, "Use 1 to 64 letters, digits, _, . and -."),
      patterns: z.array(z.string().min(1)).min(1).describe("RE2 syntax: no look-around, no back-references"),
      why: z.string().min(1).exactOptional().describe("the reason that is shown when a pattern fits"),
      ignore_case: z.boolean().exactOptional(),
      ...common,
    }),
  ]),
);

/** @throws RuntimeFault `options_invalid` */
export function guardrailsFrom(list: CamelCased<z.output<typeof guardrailsSchema>>): readonly Guardrail[] {
  return list.map((options) => {
    if (options.use === "prompt_injection") return promptInjection(options);
    return options.use === "personal_data" ? personalData(options) : patternGuardrail(options);
  });
}
