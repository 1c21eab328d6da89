import type { Principal } from "./call.ts";
import type { Json } from "./json.ts";

/** Which agent run: an id is unique among the runs of one agent (and user) of a tenant. */
export interface AgentRunId {
  readonly principal: Pick<Principal, "tenant" | "agent" | "user">;
  readonly runId: string;
}

/**
 * Where an agent's conversation is kept, so that a run that waits for a person goes on after a restart.
 *
 * @public
 */
export interface AgentRuns {
  /** The newest state and its version, or undefined when the run has none. */
  load(run: AgentRunId): Promise<{ readonly version: number; readonly state: Json } | undefined>;
  /**
   * Replaces the state of version `expected` (0: there is none yet). Secrets that Postern knows are masked before it is
   * written. False when another process has written since.
   */
  save(run: AgentRunId, state: Json, expected: number): Promise<boolean>;
  /** Deletes the state. False when there is none. A deleted run begins again at version 0. */
  remove(run: AgentRunId): Promise<boolean>;
  /** Ids of the principal's runs, in the order of their characters. */
  list(principal: AgentRunId["principal"]): Promise<readonly string[]>;
}
