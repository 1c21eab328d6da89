/**
 * Postern: the gate that every tool call passes. Named exports only; nothing else is public.
 *
 * @packageDocumentation
 */
import "./core/system/node-version.ts"; // first: an old Node is told so before anything else is run

export type { Actor } from "./core/actor.ts";
export type { Authority, Autonomy, Principal, Risk, ToolCall, Verdict } from "./core/call.ts";
export { CallRefused } from "./core/call-refused.ts";
export type { Clock } from "./core/clock.ts";
export { SystemClock } from "./core/clock.ts";
export type { CallEvent, ProgressSink } from "./core/event.ts";
export { RuntimeFault } from "./core/fault.ts";
export type { FaultCode } from "./core/fault-codes.ts";
export type { Json, JsonObject } from "./core/json.ts";
export type { CallStatus, ContentBlock, Mark, MediaBlock, Preview, ResultFile, ToolOutcome } from "./core/outcome.ts";
export type { Refusal, RefusalCode, RefusalKind, Retry } from "./core/refusals.ts";
export { refusals } from "./core/refusals.ts";
export type { Limits, Patience, TraceLine } from "./core/session.ts";
export { chainLimits, directLimits } from "./core/session.ts";
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
} from "./runtime/api.ts";
export { createRuntime } from "./runtime/create.ts";
export type { RuntimeOptions } from "./runtime/options.ts";
export type { PolicyApi, SimulateFilter, Simulation } from "./runtime/policy-api.ts";
export { defineTool, suspend } from "./tools/define.ts";
export type { AnyTool, LocalTool } from "./tools/kinds.ts";
export type { ToolAnswer, ToolContext } from "./tools/tool.ts";
export type { Toolset } from "./tools/toolsets/toolset.ts";
