import { bind, isBoundAsShown, previewDigest } from "../../approvals/binding.ts";
import type { Delegations } from "../../approvals/delegations.ts";
import type { Eligibility } from "../../approvals/eligibility.ts";
import type { Grant } from "../../approvals/grant.ts";
import { type Answering, type Grants, grantReason } from "../../approvals/grants.ts";
import type { ApprovalRepository } from "../../approvals/repository.ts";
import type { Clock } from "../../core/clock.ts";
import { type Ending, isEnding, refuse } from "../../core/ending.ts";
import { digestOf } from "../../core/json.ts";
import type { Preview } from "../../core/outcome.ts";
import type { ApprovalRecord, CallRecord } from "../../core/records.ts";
import { rankOf } from "../../core/risk.ts";
import type { Caller } from "../../core/session.ts";
import { type LookedAt, reasonsText } from "../../policy/rules/why.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import { hasLeft, unwritten } from "./claim.ts";
import { replay, underWay } from "./once.ts";
import type { Again, ApprovedCall, FreshCall, WeighedCall } from "./stages.ts";

export interface ApprovalParts {
  readonly approvals: ApprovalRepository;
  readonly grants: Grants;
  readonly delegations: Delegations;
  readonly eligibility: Eligibility;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
  readonly redactor: Redactor;
  /** Runs the tool's own preview; never throws, undefined when it offers none. */
  readonly preview: (call: Previewed, caller: PreviewFor) => Promise<Preview | undefined>;
  /** Asks the approver of this process, when there is one and it is not at it; its answer is a decision like any other. */
  readonly consult: ((approval: ApprovalRecord) => void) | undefined;
}

/** What may be previewed: every FreshCall, and an edit that was weighed under its request's key. */
export type Previewed = WeighedCall & Pick<FreshCall, "key">;
/** Who waits for a preview: a caller, or nobody but the person who edited. */
export type PreviewFor = Pick<Caller, "signal" | "deadline"> & Partial<Pick<Caller, "session">>;

type Approved = ApprovedCall | Again | Ending;

/**
 * An approval counts only when it is found decided on a pass in which nobody waited: after any wait, any edit and any
 * re-send the recorded call enters the line again, because what was allowed then may be blocked now (DESIGN 3).
 */
export async function approve(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<Approved> {
  const { record, verdict } = call;
  if (record?.state === "suspended") return wakened(call, record, parts);
  if (verdict === "ALLOW" && record?.approvalId === undefined) return approved(call, undefined);
  if (verdict === "PREVIEW") return previewed(call, caller, parts);
  return decided(call, caller, parts);
}

/** A call that waits inside its tool goes on as it was begun: with what was approved, whoever sends what was asked again. */
async function wakened(call: FreshCall, { approvalId }: CallRecord, { approvals }: ApprovalParts): Promise<Approved> {
  if (approvalId === undefined || call.resumesBy !== undefined) return approved(call, undefined);
  const approval = await approvals.get(approvalId);
  if (approval?.state !== "used" || digestOf(approval.arguments) === call.digest) return approved(call, undefined);
  return { again: await approvals.recorded(approval, call) };
}

async function decided(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<Approved> {
  const id = call.record?.approvalId;
  const approval = id === undefined ? undefined : await parts.approvals.get(id);
  switch (approval?.state) {
    case "approved":
      return useApproval(call, approval, caller, parts);
    case "pending":
      if (call.verdict !== "ALLOW") return wait(call, { approval, asked: false }, caller, parts);
      return (await takenBack(approval, "the call needs no approval any more", parts)) ?? approved(call, undefined);
    case "denied":
    case "skipped":
    case "expired":
    case "withdrawn":
      if (call.resumes !== undefined)
        return refuse(`approval_${approval.state}`, endedText(approval), { approval_id: approval.id });
      return call.verdict === "ALLOW" ? approved(call, undefined) : ask(call, caller, parts);
    case "used": // it was spent by an attempt that may be made again
    case undefined:
      return call.verdict === "ALLOW" ? approved(call, undefined) : ask(call, caller, parts);
  }
}

/** What became of a request, when, and why. */
function endedText({ id, tool, state, expiresAt, decision }: ApprovalRecord): string {
  const { at = expiresAt, as, reason } = decision ?? {};
  const request = `The request \`${id}\` for \`${tool}\``;
  const again = " Send the call again to ask again.";
  if (state === "expired") {
    const was = as === "approved" || as === "modified" ? "was approved, but not used before it" : "was not decided and";
    return `${request} ${was} expired at ${new Date(expiresAt).toISOString()}.${again}`;
  }
  const why = reason === undefined || reason === "" ? "" : `: ${reason}`;
  return `${request} was ${state} at ${new Date(at).toISOString()}${why}.${state === "withdrawn" ? again : ""}`;
}

/** Exactly what was shown, or nothing: a changed definition, argument or preview, or a greater risk, voids the approval, and asking starts anew. */
async function useApproval(
  call: FreshCall,
  approval: ApprovalRecord,
  caller: Caller,
  parts: ApprovalParts,
): Promise<Approved> {
  if (call.resumes === undefined) return { again: await parts.approvals.recorded(approval, call) };
  const changed = otherwiseNow(call, approval) ?? (await previewChanged(call, approval, caller, parts));
  if (changed === undefined) return approved(call, approval.id);
  const left = hasNoTime(call, caller, parts.clock);
  if (left !== undefined) return left; // a caller that left says nothing of what was approved
  const unkept = await takenBack(approval, changed, parts);
  return unkept ?? refuse("approval_expired", `The approval is void: ${changed}. Send the call again to ask again.`);
}

/** By policy. An ending: it could not be written. */
async function takenBack(
  approval: ApprovalRecord,
  reason: string,
  { approvals }: Pick<ApprovalParts, "approvals">,
): Promise<Ending | undefined> {
  const result = await approvals
    .decide(approval, { as: "withdrawn", by: "policy", via: "postern", reason })
    .catch(unwritten);
  return isEnding(result) ? result : undefined;
}

/** A yes to a smaller risk was not asked of whom, and of how many, a greater one is asked. */
function otherwiseNow(call: FreshCall, approval: ApprovalRecord): string | undefined {
  const isBound = approval.binding === bind(call, approval.expiresAt) && isBoundAsShown(approval);
  if (!isBound) return "what was approved is not what would run now";
  return rankOf(call.risk) > rankOf(approval.risk)
    ? `its risk is \`${call.risk}\` now, and \`${approval.risk}\` was shown`
    : undefined;
}

async function previewChanged(
  call: FreshCall,
  approval: ApprovalRecord,
  caller: Caller,
  parts: ApprovalParts,
): Promise<string | undefined> {
  const isOwnEdit = approval.decision?.as === "modified"; // nobody else had to be shown anything
  if (!call.found.previewBinds || isOwnEdit) return undefined; // its definition is the same, and with it what was said of that
  const now = await parts.preview(call, caller);
  if (now?.problem !== undefined) return `its preview fails (${now.problem}), and so is not what was shown`;
  return (now && previewDigest(now)) === approval.previewDigest ? undefined : "its preview is not what was shown";
}

/** While a preview was made, for as long as it is let. */
function hasNoTime(call: FreshCall, caller: Caller, clock: Clock): Ending | undefined {
  const { session } = caller;
  const left = hasLeft(call, caller, clock);
  if (left !== undefined || session.remainingMs() > 0) return left;
  return refuse(
    "budget_exhausted",
    `The session's total time of ${session.limits.totalTimeoutMs} ms is used up; \`${call.tool}\` was not run.`,
  );
}

async function ask(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<Approved> {
  const { grant } = await grantFor(call, caller.session, parts);
  if (grant !== undefined) return granted(call, grant);
  if (caller.patience === "deny") return refuse("approval_unavailable", nobodyAsked(call, caller, parts.redactor));
  const preview = await parts.preview(call, caller);
  const left = hasNoTime(call, caller, parts.clock);
  if (left !== undefined) return left;
  const made = await parts.approvals.ask(call, preview, caller).catch(unwritten);
  if (isEnding(made)) return made;
  if (made.asked !== undefined) {
    return wait(call, { approval: made.asked, asked: true }, caller, parts);
  }
  const { prior, approval } = made; // somebody else asked first
  if (approval?.state === "pending") return wait(call, { approval, asked: false }, caller, parts);
  return (await replay(prior, parts)) ?? underWay(prior);
}

function nobodyAsked(call: FreshCall, { asksNobody }: Caller, redactor: Redactor): string {
  const asking = call.weighing.reasons.filter(({ says }) => says === "CONFIRM" || says === "RAISE");
  const because = redactor.redact(reasonsText(asking, lookedAt(call)));
  const needs = `\`${call.tool}\` needs a person's approval at risk ${call.risk} (${because}), and`;
  return asksNobody === true
    ? `${needs} this caller asks nobody (its patience is \`deny\`).`
    : `${needs} there is no approver (no ApprovalHandler) to ask. Give the runtime \`approvals: { approver }\`, or \`approvals: { patience: "suspend" }\`: then such a call waits until somebody decides.`;
}

function lookedAt(call: FreshCall): LookedAt {
  const { found, authority, past, arrivedAt: now, key } = call;
  const { arguments: given } = call.resolved ?? call;
  const history = past?.histories ?? {};
  return { tool: found.facts, principal: authority.principal, arguments: given, history, now, key };
}

/** A yes that was remembered, if its giver could still say it today: it lowers no verdict, it answers for a person. */
export async function grantFor(
  call: WeighedCall,
  session: Pick<Caller["session"], "id"> | undefined,
  { grants }: Pick<ApprovalParts, "grants">,
): Promise<Answering> {
  if (grants.isEmpty || call.suggestion?.confirm !== undefined) return { silent: [] };
  return grants.answering(call, session?.id);
}

function granted(call: FreshCall, grant: Grant): ApprovedCall {
  const reasons = [...call.weighing.reasons, grantReason(grant)];
  const weighing = Object.freeze({ ...call.weighing, reasons: Object.freeze(reasons), grant: grant.id });
  return approved({ ...call, weighing }, undefined);
}

async function wait(
  call: FreshCall,
  { approval, asked }: { readonly approval: ApprovalRecord; readonly asked: boolean },
  caller: Caller,
  parts: ApprovalParts,
): Promise<Approved> {
  const { id: approvalId, expiresAt } = approval;
  if (caller.patience === "deny")
    return refuse(
      "approval_unavailable",
      `The request \`${approvalId}\` is open and this caller does not wait for it.`,
      { approval_id: approvalId },
    );
  parts.consult?.(approval); // also of a request that outlived the process which made it
  if (caller.patience === "suspend") {
    const tell = `\`${call.tool}\` waits for a person's approval (${approvalId}, until ${new Date(expiresAt).toISOString()}). Send the same call again later.`;
    return { ending: "pending", approvalId, expiresAt, asked, tell };
  }
  switch (await parts.approvals.answered(approval, caller)) {
    case "decided":
      return { again: await parts.approvals.recorded((await parts.approvals.get(approvalId)) ?? approval, call) };
    case "cancelled":
      return refuse("cancelled", "The caller went away while a person was asked; the request is still open.", {
        approval_id: approvalId,
      });
    case "timed_out":
      return refuse(
        "approval_timed_out",
        `Asking timed out: the request \`${approvalId}\` was not decided in time and is still open. Call \`${call.tool}\` directly, or send the same call again later.`,
        {
          approval_id: approvalId,
          expires_at: new Date(expiresAt).toISOString(),
        },
      );
  }
}

async function previewed(call: FreshCall, caller: Caller, parts: ApprovalParts): Promise<Ending> {
  const made = await parts.preview(call, caller);
  const left = hasNoTime(call, caller, parts.clock);
  if (left !== undefined) return left;
  const preview = made ?? {
    summary: `\`${call.tool}\` offers no preview (unsupported); it was not run.`,
    supported: false,
  };
  return { ending: "previewed", preview };
}

function approved(call: FreshCall, approvalId: string | undefined): ApprovedCall {
  return { ...call, approvalId } as ApprovedCall;
}
