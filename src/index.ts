/**
 * Postern: the gate that every tool call passes. Named exports only; nothing else is public.
 *
 * @packageDocumentation
 */

export type { Answer, Approver } from "./approvals/approver.ts";
export { autoApprover, callbackApprover, policyApprover } from "./approvals/approver.ts";
export type { Decided, Decider, DecisionRequest } from "./approvals/decision.ts";
export { decisionProblems } from "./approvals/decision.ts";
export type { AuditEvent, AuditFilter, AuditLog, Verification } from "./audit/log.ts";
export { verifyExport } from "./audit/verify.ts";
export type { Authority, Autonomy, Principal, Risk, ToolCall, Verdict } from "./calls/call.ts";
export { CallRefused } from "./calls/call-refused.ts";
export type { Clock } from "./calls/clock.ts";
export { SystemClock } from "./calls/clock.ts";
export type { CallEvent, Reason } from "./calls/event.ts";
export { RuntimeFault } from "./calls/fault.ts";
export type { Json, JsonObject } from "./calls/json.ts";
export type { ContentBlock, MediaBlock, Preview, ResultFile, ToolOutcome } from "./calls/outcome.ts";
export type { ApprovalRecord, ApprovalState, CallRecord, CallState } from "./calls/records.ts";
export type { Refusal, RefusalCode, RefusalKind } from "./calls/refusals.ts";
export { refusals } from "./calls/refusals.ts";
export type { Limits, Patience, TraceLine } from "./calls/session.ts";
export { chainLimits, directLimits } from "./calls/session.ts";
export type { PosternConfig } from "./config/define-config.ts";
export { defineConfig } from "./config/define-config.ts";
export { createRuntime } from "./create.ts";
export type {
  Approvals,
  CallContext,
  CallRequest,
  Calls,
  Explanation,
  Health,
  LedgerFace,
  Runtime,
  RuntimeSession,
  Settled,
} from "./face.ts";
export type { RuntimeOptions } from "./options.ts";
export type { ControlChange, ControlState, Controls } from "./policy/controls.ts";
export type { PolicyOptions } from "./policy/decide.ts";
export { createPolicy } from "./policy/decide.ts";
export type { MatrixChanges } from "./policy/matrix.ts";
export type { Decision, Policy } from "./policy/policy.ts";
export type { Rule } from "./policy/rules.ts";
export type { ArtifactStore } from "./results/artifact-store.ts";
export type { Redactor, Secret, SecretStore } from "./secrets/secret-store.ts";
export type { Store } from "./stores/store.ts";
export { defineTool, legacyTool, suspend } from "./tools/define.ts";
export type { AnyTool, HostedTool, LocalTool, ProviderDefinedTool } from "./tools/kinds.ts";
export { isHostedTool, isLocalTool, isProviderDefinedTool } from "./tools/kinds.ts";
export { Registry } from "./tools/registry.ts";
export type { ToolAnswer, ToolContext, ToolHealth } from "./tools/tool.ts";
export { Toolbox } from "./tools/toolbox.ts";
export type { ServerConfig } from "./tools/upstream/server-config.ts";
export type { Hooks } from "./watchers/hooks.ts";
