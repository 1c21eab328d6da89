/** The file of `postern agent run --script`: what the model says, turn by turn. */
import { z } from "zod";
import { type NamedConfiguration, parsedText } from "./policy-text.ts";

/** One turn of a script: text, uses of tools, or both. */
export interface WrittenTurn {
  readonly text?: string | undefined;
  readonly uses?:
    | readonly {
        readonly id?: string | undefined;
        readonly name: string;
        readonly arguments?: Record<string, unknown> | string | undefined;
      }[]
    | undefined;
}

/** A written conversation: a person's prompt, and the model's answers turn by turn. */
export interface AgentScript {
  readonly prompt?: string | undefined;
  readonly turns: readonly WrittenTurn[];
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

const agentScript: z.ZodType<AgentScript> = z.strictObject({
  prompt: z.string().min(1).optional(),
  turns: scriptedTurns,
});

/** @throws ConfigProblems with every mistake, each with its line and what to write instead */
export function readAgentScript(named: NamedConfiguration): AgentScript {
  return parsedText(named, agentScript).data;
}
