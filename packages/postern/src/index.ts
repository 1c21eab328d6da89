/**
 * Postern: the gate that every tool call passes. Named exports only; nothing else is public.
 *
 * @packageDocumentation
 */
import "./system/node-version.ts"; // first: an old Node is told so before anything else is run

export type {
  Actor,
  Authority,
  Autonomy,
  CallEvent,
  CallStatus,
  Clock,
  ContentBlock,
  FaultCode,
  Json,
  JsonObject,
  Mark,
  MediaBlock,
  Preview,
  Principal,
  ProgressSink,
  Refusal,
  RefusalCode,
  RefusalKind,
  ResultFile,
  Retry,
  Risk,
  ToolCall,
  ToolOutcome,
  Verdict,
} from "@postern/core";
export { CallRefused, RuntimeFault, refusals, SystemClock } from "@postern/core";
export type { Limits, Patience, TraceLine } from "./call/session.ts";
export { chainLimits, directLimits } from "./call/session.ts";
export type { ServerConfig } from "./mcp/client/server-config.ts";
export type {
  Approvals,
  BatchedCall,
  CallContext,
  CallRequest,
  Calls,
  Chains,
  Explanation,
  Health,
  LedgerApi,
  RecordedVerdict,
  Runtime,
  RuntimeSession,
  SessionCall,
  SettledAnswer,
} from "./runtime/api/api.ts";
export type { PolicyApi, SimulateFilter, Simulation } from "./runtime/api/policy-api.ts";
export { createRuntime } from "./runtime/create.ts";
export type { RuntimeOptions } from "./runtime/options/options.ts";
export { defineTool, suspend } from "./tools/define.ts";
export type { AnyTool, LocalTool } from "./tools/kinds.ts";
export type { ToolAnswer, ToolContext } from "./tools/tool.ts";
export type { Toolset } from "./tools/toolsets/toolset.ts";
