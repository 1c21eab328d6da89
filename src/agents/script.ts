import { z } from "zod";
import type { ScriptedTurn } from "./model.ts";

/** A conversation that is written down: what a person asks, and what the model says to it, turn by turn. */
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
            // Text: as a model writes it that makes mistakes.
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
