import { z } from "zod";
import type { ScriptedTurn } from "./model.ts";

/** A written conversation: a person's prompt, and the model's answers turn by turn. */
export interface AgentScript {
  readonly prompt?: string | undefined;
  readonly turns: readonly ScriptedTurn[];
}

/** The turns of a scripted model, as data. */
export const scriptedTurns: z.ZodType<AgentScript["turns"]> = z
  .array(
    z.strictObject({
      text: z.string().optional(),
      uses: z
        .array(
          z.strictObject({
            id: z.string().min(1).optional(),
            name: z.string().min(1),
            // Text: to imitate a model that makes mistakes.
            arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).optional(),
          }),
        )
        .optional(),
    }),
  )
  .min(1);

export const agentScript: z.ZodType<AgentScript> = z.strictObject({
  prompt: z.string().min(1).optional(),
  turns: scriptedTurns,
});
