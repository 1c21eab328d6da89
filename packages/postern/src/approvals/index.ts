/**
 * `postern/approvals`: approvers, decisions, grants and routes.
 *
 * @packageDocumentation
 */

export type { Addressees, ApprovalRecord, ApprovalState, Routed, Vote } from "@postern/core";
export type { Approver, ApproverAnswer } from "./approver.ts";
export { autoApprover, callbackApprover, policyApprover } from "./approver.ts";
export { shownDigest } from "./binding.ts";
export type {
  BatchDecisionAnswer,
  BatchRequest,
  Decider,
  DeciderRole,
  DecisionAnswer,
  DecisionProblem,
  DecisionRequest,
  Eligible,
  WhyNot,
} from "./decision.ts";
export { decisionProblems } from "./decision.ts";
export type { Grant, GrantFilter, GrantState, Remember } from "./grant.ts";
export type { ApprovalRoute } from "./routes.ts";
