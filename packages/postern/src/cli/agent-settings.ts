/** How a run of `agent run` goes on, kept with the run; and the model that `--model` names. */

import { autonomies, isRecord, type Json, type JsonObject, RuntimeFault } from "@postern/core";
import { z } from "zod";
import { scriptedTurns } from "../config/agent-script.ts";
import type { AgentsPackage, LoadedModel } from "./agents-port.ts";
import { UsageProblem } from "./usage-problem.ts";

/** `turns`: a script that answers instead of a model. */
export const runSettings = z.object({
  model: z.string().optional(),
  turns: scriptedTurns.optional(),
  system: z.string().optional(),
  skills: z.array(z.string()).readonly().optional(),
  autonomy: z.enum(autonomies).optional(),
  scopes: z.array(z.string()).readonly().optional(),
  max_steps: z.number().optional(),
});
export type AgentRunSettings = z.infer<typeof runSettings>;

export function settingsToJson(settings: AgentRunSettings): JsonObject {
  return JSON.parse(JSON.stringify(settings)) as JsonObject; // JSON has no undefined
}

/** @throws RuntimeFault `request_invalid` for a run that another program started */
export function settingsOf(runId: string, state: Json): AgentRunSettings {
  const read = runSettings.safeParse(isRecord(state) ? state["settings"] : undefined);
  if (read.success && (read.data.model !== undefined || read.data.turns !== undefined)) return read.data;
  throw new RuntimeFault(
    "request_invalid",
    `The run \`${runId}\` was not started by \`postern agent run\`; go on with it in the program that started it.`,
  );
}

/** @throws UsageProblem for a name of no model; RuntimeFault `dependency_missing` when its package cannot be used */
export async function modelOf(agents: AgentsPackage, { model, turns = [] }: AgentRunSettings): Promise<LoadedModel> {
  if (model === undefined) return agents.scriptedModel(turns);
  try {
    return await agents.namedModel(model);
  } catch (error) {
    if (error instanceof RuntimeFault && error.code === "options_invalid") throw new UsageProblem(error.message);
    throw error;
  }
}
