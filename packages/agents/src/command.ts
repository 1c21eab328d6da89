/**
 * What the command line `postern` needs of this package: it loads this module when it is asked for an agent. The shape that
 * it expects is `AgentsPackage` in postern's packages/postern/src/cli/agents-port.ts.
 */
import type { Json } from "@postern/core";
import { type Agent, agentAt } from "./agent-run.ts";
import type { AgentModel } from "./model.ts";
import { type RemotePlaceOptions, type RemotePostern, remotePlace } from "./remote-place.ts";
import { RunRecord } from "./run-record.ts";

export { scriptedModel } from "./model.ts";
export { namedModel } from "./named-model.ts";
export { openProvided } from "./provided/open-provided.ts";
export { providerLimits } from "./provider-schema.ts";
export { checkDone } from "./run-record.ts";

export interface RemoteAgentOptions extends RemotePlaceOptions {
  readonly name: string;
  readonly principal: RunRecord["run"]["principal"];
  readonly model: AgentModel;
  readonly instructions?: string;
  readonly maxSteps?: number;
}

/** An agent whose loop runs here. Its tools, its conversation and its skills are those of a Postern that runs elsewhere. */
export function openRemoteAgent(postern: RemotePostern, options: RemoteAgentOptions): Agent {
  return agentAt(remotePlace(postern, options), options);
}

/** The conversation of a run, from its stored state. @throws RuntimeFault `request_invalid` */
export function readRecord(
  run: RunRecord["run"],
  stored: { readonly version: number; readonly state: Json },
): RunRecord {
  return RunRecord.from({ load: async () => stored, save: async () => false }, run, stored);
}
