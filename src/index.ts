/**
 * Postern: the gate that every tool call passes. Named exports only; nothing else is public.
 *
 * @packageDocumentation
 */
import "./system/node-version.ts"; // first: an old Node is told so before anything else is run

export type { Limits, Patience, TraceLine } from "./call/session.ts";
export { chainLimits, directLimits } from "./call/session.ts";
export type { Actor } from "./core/actor.ts";
export type { Authority, Autonomy, Principal, Risk, ToolCall, Verdict } from "./core/call.ts";
export type { Clock } from "./core/clock.ts";
export { SystemClock } from "./core/clock.ts";
export type { CallEvent, ProgressSink } from "./core/event.ts";
export type { FaultCode } from "./core/fault.ts";
export { RuntimeFault } from "./core/fault.ts";
export type { Json, JsonObject } from "./core/json.ts";
export type { CallStatus, ContentBlock, Mark, MediaBlock, Preview, ResultFile, ToolOutcome } from "./core/outcome.ts";
export { CallRefused } from "./core/outcome.ts";
export type { Refusal, RefusalCode, RefusalKind, Retry } from "./core/refusals.ts";
export { refusals } from "./core/refusals.ts";
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
