/**
 * Postern: the gate that every tool call passes. Named exports only; nothing else is public.
 *
 * @packageDocumentation
 */
import "./system/node-version.ts"; // first: an old Node is told so before anything else is run

export type { Actor } from "./calls/actor.ts";
export type { Authority, Autonomy, Principal, Risk, ToolCall, Verdict } from "./calls/call.ts";
export { CallRefused } from "./calls/call-refused.ts";
export type { Clock } from "./calls/clock.ts";
export { SystemClock } from "./calls/clock.ts";
export type { CallEvent, ProgressSink } from "./calls/event.ts";
export { RuntimeFault } from "./calls/fault.ts";
export type { FaultCode } from "./calls/fault-codes.ts";
export type { Json, JsonObject } from "./calls/json.ts";
export type { CallStatus, ContentBlock, Mark, MediaBlock, Preview, ResultFile, ToolOutcome } from "./calls/outcome.ts";
export type { Refusal, RefusalCode, RefusalKind, Retry } from "./calls/refusals.ts";
export { refusals } from "./calls/refusals.ts";
export type { Limits, Patience, TraceLine } from "./calls/session.ts";
export { chainLimits, directLimits } from "./calls/session.ts";
export { createRuntime } from "./create.ts";
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
} from "./face.ts";
export type { RuntimeOptions } from "./runtime/options.ts";
export { defineTool, suspend } from "./tools/define.ts";
export type { AnyTool, LocalTool } from "./tools/kinds.ts";
export type { Toolset } from "./tools/sets/toolset.ts";
export type { ToolAnswer, ToolContext } from "./tools/tool.ts";
export type { ServerConfig } from "./tools/upstream/server-config.ts";
