/**
 * `postern/approvals`: approvers, decisions, grants, delegations and routes.
 *
 * @packageDocumentation
 */

export { createTerminalApprover, type TerminalApproverOptions } from "../cli/approver/terminal-approver.ts";
export { createWebApprover, type WebApprover, type WebApproverOptions } from "../cli/approver/web-approver.ts";
export type { Addressees, ApprovalRecord, ApprovalState, Routed, Vote } from "../core/records.ts";
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
