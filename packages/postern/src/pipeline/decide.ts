/** A person decides about a request. An edit passes the gates too, and nothing runs. */

import { type ApprovalRecord, refusal } from "@postern/core";
import { bind, shownDigest } from "../approvals/binding.ts";
import { actorOf, type DecisionAnswer, type DecisionRequest, noApproval } from "../approvals/decision.ts";
import { type AdmittedDecision, admit, isApproving, overProblem } from "../approvals/eligibility.ts";
import { rememberProblem } from "../approvals/grant.ts";
import { alreadyVoted, type EditedArguments, type WrittenDecision } from "../approvals/quorum.ts";
import type { DecisionResult } from "../approvals/repository.ts";
import { arrivalOf, readArguments } from "../call/arrival.ts";
import { type Ending, isEnding } from "../call/ending.ts";
import type { Parts } from "./dependencies.ts";
import type { Previewed } from "./gates/approval.ts";
import { uncountedCall } from "./gates/budget.ts";
import type { WeighedCall } from "./gates/stages.ts";
import { assess } from "./invoke.ts";
import type { Arrival } from "./resume.ts";

/** The request of one person, and whether the approver of this process, configured in code, makes it. */
type OwnRequest = DecisionRequest & { readonly inProcess: boolean };

/** Checks who may decide, takes an edit through the gates, and records the decision. Runs nothing. */
export async function decide(id: string, request: OwnRequest, arrival: Arrival, parts: Parts): Promise<DecisionAnswer> {
  const approval = await parts.approvals.get(id);
  if (approval === undefined) return { decided: false, code: "approval_unknown", message: noApproval(id) };
  const { inProcess } = request;
  const first = admit(approval, request, parts.eligibility.contextOf(approval, inProcess));
  if ("code" in first) return refusedDecision(first, approval);
  const edited = request.decision === "modified" ? await weighEdit(approval, request, arrival, parts) : undefined;
  if (edited !== undefined && isEnding(edited)) return editRefused(edited, approval);
  if (edited !== undefined && edited.found.definition !== approval.definition) return toolChanged(approval);
  // An edit may raise the risk: who may decide follows from the edited call.
  const asked = edited === undefined ? approval : { ...approval, risk: edited.risk, arguments: edited.arguments };
  const meant = { ...request, expectedDigest: shownDigest(asked) }; // the digest of the original was compared above
  const admitted = edited === undefined ? first : admit(asked, meant, parts.eligibility.contextOf(asked, inProcess));
  if ("code" in admitted) return refusedDecision(admitted, approval);
  const remember = rememberRefusal(asked, request, admitted, parts);
  if (remember !== undefined) return { decided: false, code: "remember_refused", message: remember, approval };
  const edit = edited && (await editOf(edited, approval, admitted, parts));
  const result = await parts.approvals.decide(approval, decisionOf(request, admitted, edit, parts));
  if (!result.won) return lostDecision(result, request);
  const { grant } = result;
  return { decided: true, approval: result.approval, ...(grant !== undefined && { grant }) };
}

function decisionOf(
  request: DecisionRequest,
  admitted: AdmittedDecision,
  edited: EditedArguments | undefined,
  { grants, redactor }: Parts,
): WrittenDecision {
  const { decision, reason, remember } = request;
  const { requirement, approver } = admitted;
  const { by, via } = actorOf(request.by);
  const redacted = remember && { ...remember, reason: redactor.redact(remember.reason) };
  const author = { by, via, approver };
  return {
    as: decision,
    ...{ by, via },
    reason: reason === undefined ? undefined : redactor.redact(reason),
    quorum: requirement.quorum,
    edited,
    remember: redacted && ((approved) => grants.newGrant(redacted, approved, author)),
  };
}

/** Why the approval cannot be remembered as a grant. Returns undefined if it can, or if no grant was requested. */
function rememberRefusal(
  asked: ApprovalRecord,
  { decision, remember }: DecisionRequest,
  { requirement }: AdmittedDecision,
  parts: Parts,
): string | undefined {
  if (remember === undefined) return undefined;
  if (!isApproving(decision)) return "Only an approval can be remembered.";
  if (!requirement.remembers)
    return `The route \`${requirement.rule}\` does not allow remembering approvals of \`${asked.tool}\` at risk ${asked.risk}.`;
  return rememberProblem(remember, asked, parts.clock.now());
}

type DecisionRefusal = Pick<Extract<DecisionAnswer, { decided: false }>, "code" | "message">;

function refusedDecision(problem: DecisionRefusal, approval: ApprovalRecord): DecisionAnswer {
  return problem.code === "approval_unknown" // hidden from other tenants
    ? { decided: false, ...problem }
    : { decided: false, ...problem, approval };
}

function lostDecision(
  { approval, because }: Extract<DecisionResult, { won: false }>,
  { by }: DecisionRequest,
): DecisionAnswer {
  if (because === "voted")
    return { decided: false, code: "approval_voted", message: alreadyVoted(approval, actorOf(by)), approval };
  if (because === "changed") {
    const message = `\`${approval.id}\` was edited meanwhile; look at it again.`;
    return { decided: false, code: "approval_changed", message, approval };
  }
  return { decided: false, ...overProblem(approval), approval };
}

/** Assesses the edited arguments as the recorded call was assessed. */
async function weighEdit(
  approval: ApprovalRecord,
  request: DecisionRequest,
  arrival: Arrival,
  parts: Parts,
): Promise<WeighedCall | Ending> {
  const recorded = await parts.approvals.recorded(approval, arrival);
  return assess(uncountedCall(arrivalOf({ ...recorded, ...readArguments(request.arguments) })), parts);
}

function editRefused(end: Ending, approval: ApprovalRecord): DecisionAnswer {
  const why = end.ending === "refused" ? end.refusal : refusal("internal");
  return { decided: false, code: "edit_refused", message: why.message, refusal: why, approval };
}

/** The tool changed since the request was made, so no approval of it can run. */
function toolChanged(approval: ApprovalRecord): DecisionAnswer {
  const message = `\`${approval.tool}\` has a new definition since the request \`${approval.id}\` was made, so approving it would run nothing. Withdraw the request and send the call again.`;
  return { decided: false, code: "tool_changed", message, approval };
}

/** Risk, reasons and summary of the edit replace those of the request. Further approvers see a new preview. */
async function editOf(
  weighed: WeighedCall,
  { key, expiresAt }: ApprovalRecord,
  { requirement }: AdmittedDecision,
  parts: Parts,
): Promise<EditedArguments> {
  const call: Previewed = { ...weighed, key };
  const { suggestion, risk, weighing, resolved } = call;
  const preview = requirement.quorum > 1 ? await parts.preview(call, {}) : undefined;
  return {
    arguments: call.arguments,
    ...(resolved !== undefined && { artifacts: resolved.artifacts }),
    binding: bind(call, expiresAt),
    risk,
    why: weighing.reasons,
    ...(suggestion?.summary !== undefined && { summary: suggestion.summary }),
    ...(preview !== undefined && { preview }),
  };
}
