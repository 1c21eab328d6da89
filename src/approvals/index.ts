/**
 * `postern/approvals`: approvers, decisions, grants, delegations and routes.
 *
 * @packageDocumentation
 */
export type { Addressees, ApprovalRecord, ApprovalState, Routed, Vote } from "../calls/records.ts";
export { createTerminalApprover, createWebApprover } from "../doors/approvers.ts";
export type { TerminalApproverOptions } from "../doors/cli/terminal-approver.ts";
export type { WebApprover, WebApproverOptions } from "../doors/http/web-approver.ts";
export type { Approver, ApproverAnswer } from "./approver.ts";
export { autoApprover, callbackApprover, policyApprover } from "./approver.ts";
export { shownDigest } from "./binding.ts";
export type {
  BatchDecided,
  BatchRequest,
  Decided,
  Decider,
  DeciderRole,
  DecisionProblem,
  DecisionRequest,
  Eligible,
  WhyNot,
} from "./decision.ts";
export { decisionProblems } from "./decision.ts";
export type { Delegated, Delegation, DelegationFilter, DelegationRequest } from "./delegations.ts";
export type { Grant, GrantFilter, GrantState, Remember } from "./grant.ts";
export type { ApprovalRoute } from "./routes.ts";
