/** The `guardrails` section of a configuration file (snake_case) and the guardrails it becomes. Only packages/postern/src/config imports this. */

import type { CamelCased } from "@postern/core";
import { z } from "zod";
import { fileShape } from "../../checks/zod.ts";
import { guardrailOptions } from "./guardrail-options.ts";
import type { Guardrail } from "./guardrails.ts";
import { personalData } from "./personal-data.ts";
import { promptInjection } from "./prompt-injection.ts";
import { patternGuardrail } from "./text-guardrail.ts";

const options = guardrailOptions();

/** The built-in guardrails by `use`, each with its options. */
export const guardrailsSchema = z.array(
  z.discriminatedUnion("use", [
    z.strictObject({
      use: z.literal("prompt_injection").describe("common phrases that give orders to a model"),
      ...fileShape(options.promptInjection.shape),
    }),
    z.strictObject({
      use: z.literal("personal_data").describe("card numbers, IBANs; mail addresses and phone numbers when asked for"),
      ...fileShape(options.personalData.shape),
    }),
    z.strictObject({
      use: z.literal("patterns").describe("text that you describe"),
      ...fileShape(options.patterns.shape),
    }),
  ]),
);

/** @throws RuntimeFault `options_invalid` */
export function guardrailsFrom(list: CamelCased<z.output<typeof guardrailsSchema>>): readonly Guardrail[] {
  return list.map((one) => {
    if (one.use === "prompt_injection") return promptInjection(withoutUse(one));
    return one.use === "personal_data" ? personalData(withoutUse(one)) : patternGuardrail(withoutUse(one));
  });
}

function withoutUse<Section extends { readonly use: string }>({ use, ...options }: Section): Omit<Section, "use"> {
  return options;
}
