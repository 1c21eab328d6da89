/**
 * What the command line needs of the package `@postern/agents`. postern does not depend on that package and imports no type
 * of it; agents-package.ts loads it.
 */

import type { AgentRunId, Autonomy, Json, JsonObject, ToolOutcome } from "@postern/core";
import type { PosternClient } from "@postern/core/contract";
import type { FileToolOptions } from "../builtin/files/files.ts";
import type { WrittenTurn } from "../config/agent-script.ts";
import type { ProvidedSettings } from "../config/provided-config.ts";
import type { ProviderDefinedTool } from "../tools/kinds.ts";

export interface AgentsPackage {
  /** The parts of a tool's schema that providers of models refuse. */
  providerLimits(schema: JsonObject): readonly string[];
  /** The provider-defined tools that a configuration turns on. */
  openProvided(settings: ProvidedSettings, place: ConfiguredPlace): Promise<readonly ProviderDefinedTool[]>;
  /** @throws RuntimeFault `options_invalid`, `dependency_missing` */
  namedModel(name: string): Promise<LoadedModel>;
  scriptedModel(turns: readonly WrittenTurn[]): LoadedModel;
  openRemoteAgent(postern: Clients, options: OpenedAgentOptions): RemoteAgent;
  /** @throws RuntimeFault `request_invalid` */
  readRecord(run: AgentRunId, stored: { readonly version: number; readonly state: Json }): AgentRunRecord;
  /** @throws RuntimeFault `run_taken` for a run that is not done */
  checkDone(record: AgentRunRecord): void;
}

interface Clients {
  readonly agent: PosternClient;
  readonly operator: PosternClient;
}

interface ConfiguredPlace {
  readonly files: FileToolOptions;
  readonly memories: string;
  /** Called for a tool that cannot be offered here. */
  readonly reject: (tool: string, why: string) => void;
}

/** A model that an agent can ask. Only the agents package uses it. */
export interface LoadedModel {
  readonly provider: string;
  readonly modelId: string;
}

interface OpenedAgentOptions {
  readonly name: string;
  readonly principal: AgentRunId["principal"];
  readonly model: LoadedModel;
  readonly instructions?: string;
  readonly maxSteps?: number;
  readonly claims: { readonly autonomy?: Autonomy | undefined; readonly scopes?: readonly string[] | undefined };
  readonly traceId: string;
  readonly skills: readonly string[];
  /** Stored with the conversation: what `resume` needs. */
  readonly settings: JsonObject;
}

/** An agent whose loop runs in this command. */
export interface RemoteAgent {
  run(request: { readonly prompt: string; readonly runId?: string }, options?: RemoteRunOptions): Promise<RemoteResult>;
  resume(runId: string, options?: RemoteRunOptions): Promise<RemoteResult | undefined>;
}

export interface RemoteRunOptions {
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ReportedEvent) => void;
}

export interface UsedTool {
  readonly name: string;
  readonly arguments?: unknown;
}

export interface ToolAnswerText {
  readonly outcome: ToolOutcome;
  readonly text: string;
}

export type ReportedEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly use: UsedTool }
  | { readonly type: "tool_answer"; readonly use: UsedTool; readonly answer: ToolAnswerText };

export type RemoteResult = { readonly runId: string; readonly text: string; readonly steps: number } & (
  | { readonly status: "done" }
  | { readonly status: "waiting"; readonly approvalIds: readonly string[] }
  | { readonly status: "stopped"; readonly reason: string; readonly message: string }
);

/** The conversation of a run. */
export interface AgentRunRecord {
  readonly runId: string;
  readonly messages: readonly StoredMessage[];
  /** Turns of the model so far. */
  readonly steps: number;
  readonly isDone: boolean;
}

export type StoredMessage =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly uses: readonly UsedTool[] }
  | { readonly role: "tool"; readonly answers: readonly { readonly use: UsedTool; readonly text: string }[] };
