import { type ApprovalRecord, asSentence, type CallRecord, type Clock, type Preview, rankOf } from "@postern/core";
import { digestOf } from "@postern/core/system";
import { bind, isBoundAsShown, previewDigest } from "../../approvals/binding.ts";
import { commentNotes } from "../../approvals/comments.ts";
import type { Eligibility } from "../../approvals/eligibility.ts";
import type { Grant } from "../../approvals/grant.ts";
import { type GrantAnswer, type Grants, grantReason } from "../../approvals/grants.ts";
import type { ApprovalRepository } from "../../approvals/repository.ts";
import { type Ending, isEnding, refuse } from "../../call/ending.ts";
import type { Caller } from "../../call/session.ts";
import { type ExplainedCall, reasonsText } from "../../policy/rules/why.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import { cut } from "../../results/cut.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import type { Tools } from "../../tools/tool.ts";
import { startServer } from "./lookup.ts";
import { callerGone, storeFailure } from "./not-run.ts";
import { inProgress, replay } from "./once.ts";
import type { Again, ApprovedCall, FreshCall, WeighedCall } from "./stages.ts";

export interface ApprovalParts {
  readonly approvals: ApprovalRepository;
  readonly grants: Grants;
  readonly eligibility: Eligibility;
  readonly tools: Tools;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
  readonly redactor: Redactor;
  /** Runs the tool's own preview. Never throws; returns undefined when the tool has none. */
  readonly preview: (call: Previewed, caller: PreviewFor) => Promise<Preview | undefined>;
  /** Asks the approver of this process, if there is one and it is not busy with this request. Its answer is a normal decision. */
  readonly consult: ((approval: ApprovalRecord) => void) | undefined;
}

/** A call that can be previewed: every FreshCall, and an edit under the key of its request. */
export type Previewed = WeighedCall & Pick<FreshCall, "key">;
/** The receiver of a preview: a caller, or only the person who edited. */
export type PreviewFor = Pick<Caller, "signal" | "deadline"> & Partial<Pick<Caller, "session">>;

type ApprovalStep = ApprovedCall | Again | Ending;

/**
 * An approval counts only on a pass in which the call did not wait. After a wait, an edit or a re-send the recorded call
 * enters the gates again, because the policy may have become stricter.
 */
export async function approve(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<ApprovalStep> {
  const { record, verdict } = call;
  if (record?.state === "suspended") return continueSuspended(call, record, parts);
  if (verdict === "ALLOW" && record?.approvalId === undefined) return toApproved(call, undefined);
  if (verdict === "PREVIEW") return previewInstead(call, caller, parts);
  return applyRequest(call, caller, parts);
}

/** A call that waits inside its tool continues with the arguments that were approved. */
async function continueSuspended(
  call: FreshCall,
  { approvalId }: CallRecord,
  { approvals }: ApprovalParts,
): Promise<ApprovalStep> {
  if (approvalId === undefined || call.resumesBy !== undefined) return toApproved(call, undefined);
  const approval = await approvals.get(approvalId);
  if (approval?.state !== "used") return toApproved(call, undefined);
  if (digestOf(approval.arguments) === call.digest) return { ...toApproved(call, undefined), ...notesOf(approval) };
  return { again: await approvals.recorded(approval, call) };
}

async function applyRequest(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<ApprovalStep> {
  const id = call.record?.approvalId;
  const approval = id === undefined ? undefined : await parts.approvals.get(id);
  switch (approval?.state) {
    case "approved":
      return useApproval(call, approval, caller, parts);
    case "pending":
      if (call.verdict !== "ALLOW") return wait(call, { approval, asked: false }, caller, parts);
      return (await withdraw(approval, "the call needs no approval any more", parts)) ?? toApproved(call, undefined);
    case "denied":
    case "skipped":
    case "expired":
    case "withdrawn":
      if (call.resumes !== undefined)
        return refuse(`approval_${approval.state}`, endedText(approval), { approval_id: approval.id });
      return call.verdict === "ALLOW" ? toApproved(call, undefined) : ask(call, caller, parts);
    case "used": // used by an attempt that may be repeated
    case undefined:
      return call.verdict === "ALLOW" ? toApproved(call, undefined) : ask(call, caller, parts);
  }
}

/** How a request ended, when, and why. */
function endedText({ id, tool, state, expiresAt, decision }: ApprovalRecord): string {
  const { at = expiresAt, as, reason } = decision ?? {};
  const request = `The request \`${id}\` for \`${tool}\``;
  const again = " Send the call again to ask again.";
  if (state === "expired") {
    const was = as === "approved" || as === "modified" ? "was approved, but not used before it" : "was not decided and";
    return `${request} ${was} expired at ${new Date(expiresAt).toISOString()}.${again}`;
  }
  const why = reason === undefined || reason === "" ? "." : `: ${asSentence(reason)}`;
  return `${request} was ${state} at ${new Date(at).toISOString()}${why}${state === "withdrawn" ? again : ""}`;
}

/** Runs exactly what was shown: a changed definition, argument or preview, or a higher risk, voids the approval. */
async function useApproval(
  call: FreshCall,
  approval: ApprovalRecord,
  caller: Caller,
  parts: ApprovalParts,
): Promise<ApprovalStep> {
  if (call.resumes === undefined) return { again: await parts.approvals.recorded(approval, call) };
  const starting = bindsPreview(call, approval) ? startServer(call, caller, parts) : undefined;
  if (starting !== undefined) return starting; // a preview that waited for it would time out, and void the approval
  const changed = changeSince(call, approval) ?? (await previewChanged(call, approval, caller, parts));
  if (changed === undefined) return { ...toApproved(call, approval.id), ...notesOf(approval) };
  const left = timeProblem(call, caller, parts.clock);
  if (left !== undefined) return left; // the caller has left, so the preview proves nothing
  const unkept = await withdraw(approval, changed, parts);
  return unkept ?? refuse("approval_expired", `The approval is void: ${changed}. Send the call again to ask again.`);
}

/** Withdraws the request in the name of the policy. Returns an ending if that could not be written. */
async function withdraw(
  approval: ApprovalRecord,
  reason: string,
  { approvals }: Pick<ApprovalParts, "approvals">,
): Promise<Ending | undefined> {
  const result = await approvals
    .decide(approval, { as: "withdrawn", by: "policy", via: "postern", reason })
    .catch(storeFailure);
  return isEnding(result) ? result : undefined;
}

/** What changed since the approval. A higher risk counts, because it may need other or more approvers. */
function changeSince(call: FreshCall, approval: ApprovalRecord): string | undefined {
  const isBound = approval.binding === bind(call, approval.expiresAt) && isBoundAsShown(approval);
  if (!isBound) return "the call differs from what was approved";
  return rankOf(call.risk) > rankOf(approval.risk)
    ? `its risk is \`${call.risk}\` now, and \`${approval.risk}\` was shown`
    : undefined;
}

/** The definition is the same, so the setting is too. Who edited the call has seen its preview. */
function bindsPreview({ found }: FreshCall, { decision }: ApprovalRecord): boolean {
  return found.previewBinds && decision?.as !== "modified";
}

async function previewChanged(
  call: FreshCall,
  approval: ApprovalRecord,
  caller: Caller,
  parts: ApprovalParts,
): Promise<string | undefined> {
  if (!bindsPreview(call, approval)) return undefined;
  const now = await parts.preview(call, caller);
  if (now?.problem !== undefined) return `its preview fails now (${now.problem})`;
  return (now && previewDigest(now)) === approval.previewDigest ? undefined : "its preview differs from what was shown";
}

/** Whether the caller left, or the session ran out of time, while a preview was made. */
function timeProblem(call: FreshCall, caller: Caller, clock: Clock): Ending | undefined {
  const { session } = caller;
  const left = callerGone(call, caller, clock);
  if (left !== undefined || session.remainingMs() > 0) return left;
  return refuse(
    "budget_exhausted",
    `The session's total time of ${session.limits.totalTimeoutMs} ms is used up; \`${call.tool}\` was not run.`,
  );
}

/** A person is shown the preview of a server that runs: a preview has less time than a start. */
function startForPreview(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<Again | Ending> | undefined {
  return call.found.preview === undefined ? undefined : startServer(call, caller, parts);
}

async function ask(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<ApprovalStep> {
  const { grant } = await grantFor(call, caller.session, parts);
  if (grant !== undefined) return approveByGrant(call, grant);
  if (caller.patience === "deny") return refuse("approval_unavailable", noApproverText(call, caller, parts.redactor));
  const starting = startForPreview(call, caller, parts);
  if (starting !== undefined) return starting;
  const preview = await parts.preview(call, caller);
  const left = timeProblem(call, caller, parts.clock);
  if (left !== undefined) return left;
  const made = await parts.approvals.ask(call, preview, caller).catch(storeFailure);
  if (isEnding(made)) return made;
  if (made.asked !== undefined) {
    return wait(call, { approval: made.asked, asked: true }, caller, parts);
  }
  const { prior, approval } = made; // another caller made the request first
  if (approval?.state === "pending") return wait(call, { approval, asked: false }, caller, parts);
  return (await replay(prior, parts)) ?? inProgress(prior);
}

function noApproverText(call: FreshCall, { choseDeny }: Caller, redactor: Redactor): string {
  const asking = call.weighing.reasons.filter(({ effect }) => effect === "CONFIRM" || effect === "RAISE");
  const because = redactor.redact(reasonsText(asking, shownPreview(call)));
  const needs = `\`${call.tool}\` needs a person's approval at risk ${call.risk} (${because}), and`;
  return choseDeny === true
    ? `${needs} this caller does not ask (its patience is \`deny\`).`
    : `${needs} there is no approver (no ApprovalHandler) to ask. Give the runtime \`approvals: { approver }\`, or \`approvals: { patience: "suspend" }\`: then such a call waits for a decision.`;
}

function shownPreview(call: FreshCall): ExplainedCall {
  const { found, authority, past, arrivedAt: now, key } = call;
  const { arguments: given } = call.resolved ?? call;
  const history = past?.histories ?? {};
  return { tool: found.facts, principal: authority.principal, arguments: given, history, now, key };
}

/** A grant that answers for its approver, if the approver could still approve this call. It does not change the verdict. */
export async function grantFor(
  call: WeighedCall,
  session: Pick<Caller["session"], "id"> | undefined,
  { grants }: Pick<ApprovalParts, "grants">,
): Promise<GrantAnswer> {
  if (grants.isEmpty || call.suggestion?.confirm !== undefined) return { silent: [] };
  return grants.answerFor(call, session?.id);
}

function approveByGrant(call: FreshCall, grant: Grant): ApprovedCall {
  const reasons = [...call.weighing.reasons, grantReason(grant)];
  const weighing = Object.freeze({ ...call.weighing, reasons: Object.freeze(reasons), grant: grant.id });
  return toApproved({ ...call, weighing }, undefined);
}

async function wait(
  call: FreshCall,
  { approval, asked }: { readonly approval: ApprovalRecord; readonly asked: boolean },
  caller: Caller,
  parts: ApprovalParts,
): Promise<ApprovalStep> {
  const { id: approvalId, expiresAt } = approval;
  if (caller.patience === "deny")
    return refuse(
      "approval_unavailable",
      `The request \`${approvalId}\` is open and this caller does not wait for it.`,
      { approval_id: approvalId },
    );
  parts.consult?.(approval); // also for a request of an earlier process
  if (caller.patience === "suspend") {
    const text = `\`${call.tool}\` waits for a person's approval (${approvalId}, until ${new Date(expiresAt).toISOString()}). Send the same call again later.`;
    return { ending: "pending", approvalId, expiresAt, asked, text, notes: commentNotes(approval) };
  }
  switch (await parts.approvals.waitForDecision(approval, caller)) {
    case "decided":
      return { again: await parts.approvals.recorded((await parts.approvals.get(approvalId)) ?? approval, call) };
    case "cancelled":
      return refuse("cancelled", "The caller left while the request was waiting; the request is still open.", {
        approval_id: approvalId,
      });
    case "timed_out": {
      const refused = refuse(
        "approval_timed_out",
        `The wait timed out: the request \`${approvalId}\` was not decided in time and is still open. Call \`${call.tool}\` directly, or send the same call again later.`,
        {
          approval_id: approvalId,
          expires_at: new Date(expiresAt).toISOString(),
        },
      );
      return { ...refused, notes: commentNotes((await parts.approvals.get(approvalId)) ?? approval) };
    }
  }
}

async function previewInstead(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<Again | Ending> {
  const starting = startForPreview(call, caller, parts);
  if (starting !== undefined) return starting;
  const made = await parts.preview(call, caller);
  const left = timeProblem(call, caller, parts.clock);
  if (left !== undefined) return left;
  const preview = made ?? {
    summary: `\`${call.tool}\` offers no preview (unsupported); it was not run.`,
    supported: false,
  };
  return { ending: "previewed", preview };
}

/** Longest part of the changed arguments in a note, in bytes. */
const mostShownBytes = 2000;

/** What the model must learn of the approval: that a person changed the arguments, and the reason. */
function notesOf({ asked, arguments: runs, decision }: ApprovalRecord): Pick<ApprovedCall, "notes"> {
  const { by = "", reason = "" } = decision ?? {};
  const isChanged = digestOf(asked) !== digestOf(runs);
  if (!isChanged && reason === "") return {};
  const did = isChanged
    ? `changed the arguments to ${cut(JSON.stringify(runs), mostShownBytes)} before it ran.`
    : "approved this call.";
  return { notes: [`A person (${by}) ${did}${reason === "" ? "" : ` Reason: ${asSentence(reason)}`}`] };
}

function toApproved(call: FreshCall, approvalId: string | undefined): ApprovedCall {
  return { ...call, approvalId } as ApprovedCall;
}
