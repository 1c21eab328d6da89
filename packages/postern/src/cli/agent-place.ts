import { type AgentRunId, ownAgents } from "@postern/core";
import { unless } from "@postern/core/contract";
import type { AgentRunRecord, AgentsPackage } from "./agents-port.ts";
import type { Work } from "./output/print.ts";

/** The agent whose token a command has. */
export const principal: AgentRunId["principal"] = { tenant: "default", agent: ownAgents.folder };

/** A run of this agent. Returns undefined when there is none. */
export async function runRecord(
  agents: AgentsPackage,
  { agent }: Pick<Work, "agent">,
  runId: string,
): Promise<AgentRunRecord | undefined> {
  const stored = await unless("run_unknown", agent.agentRuns.show({ id: runId }));
  return stored && agents.readRecord({ principal, runId }, stored);
}
