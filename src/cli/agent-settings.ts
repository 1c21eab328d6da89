/** How a run of `agent run` goes on: kept with the run, so that `agent resume` needs its id alone. */
import { z } from "zod";
import { type AgentModel, type ScriptedTurn, scriptedModel } from "../agents/model.ts";
import { scriptedTurns } from "../agents/script.ts";
import type { Autonomy } from "../core/call.ts";
import { RuntimeFault } from "../core/fault.ts";
import type { Json, JsonObject } from "../core/json.ts";
import { autonomies } from "../core/risk.ts";
import { isRecord } from "../tools/kinds.ts";
import { loadModel } from "./agent-model.ts";

export interface AgentRunSettings {
  readonly model?: string | undefined;
  /** In the place of a model. */
  readonly turns?: readonly ScriptedTurn[] | undefined;
  readonly system?: string | undefined;
  readonly skills?: readonly string[] | undefined;
  readonly autonomy?: Autonomy | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly max_steps?: number | undefined;
}

const settingsSchema: z.ZodType<AgentRunSettings> = z.object({
  model: z.string().optional(),
  turns: scriptedTurns.optional(),
  system: z.string().optional(),
  skills: z.array(z.string()).optional(),
  autonomy: z.enum(autonomies).optional(),
  scopes: z.array(z.string()).optional(),
  max_steps: z.number().optional(),
});

export function settingsToJson(settings: AgentRunSettings): JsonObject {
  return JSON.parse(JSON.stringify(settings)) as JsonObject; // what is undefined is left out
}

/** @throws RuntimeFault `run_unreadable` for a run that another program keeps */
export function settingsOf(runId: string, state: Json): AgentRunSettings {
  const read = settingsSchema.safeParse(isRecord(state) ? state["settings"] : undefined);
  if (read.success && (read.data.model !== undefined || read.data.turns !== undefined)) return read.data;
  throw new RuntimeFault(
    "run_unreadable",
    `The run \`${runId}\` was not started by \`postern agent run\`; go on with it in the program that started it.`,
  );
}

export async function modelOf({ model, turns = [] }: AgentRunSettings): Promise<AgentModel> {
  return model === undefined ? scriptedModel(turns) : loadModel(model);
}
