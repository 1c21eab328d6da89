/** An approval record in the form of the contract. */
import { shownDigest } from "../../approvals/binding.ts";
import { votesLeft } from "../../approvals/quorum.ts";
import { unrouted } from "../../approvals/routes.ts";
import { digestOf } from "../../core/json.ts";
import type { ApprovalRecord, Routed, Vote } from "../../core/records.ts";
import { type ApprovalView, approval, type ViewerInput } from "../contract/approvals.ts";
import { type Input, shape } from "../contract/route.ts";
import { previewToWire } from "../contract/wire.ts";

export type ApprovalAnswer = Input<typeof approval>;

/** As a client reads it. */
export function shownApproval(record: ApprovalRecord): ApprovalView {
  return shape(approval, givenApproval(record));
}

interface Beside {
  readonly viewer?: ViewerInput | undefined;
  /** What a decision needs now. Default: what it needed when it was asked. */
  readonly demand?: Routed | undefined;
}

export function givenApproval(
  record: ApprovalRecord,
  { viewer, demand = record.routed ?? unrouted }: Beside = {},
): ApprovalAnswer {
  const { tool, action, arguments: runs, decision, preview, votes = [] } = record;
  return {
    approval_id: record.id,
    status: record.state,
    created_at: record.requestedAt,
    expires_at: record.expiresAt,
    trace_id: record.traceId,
    refs: { run: record.runId, key: record.key },
    requested_by: record.principal,
    risk_level: record.risk,
    autonomy_level: record.autonomy,
    what: {
      ...{ tool, action, arguments: runs },
      artifacts: record.artifacts?.map(({ mediaType, ...one }) => ({ ...one, media_type: mediaType })),
    },
    asked: isEdited(record) ? record.asked : undefined,
    asked_preview: record.askedPreview && previewToWire(record.askedPreview),
    why: record.why,
    summary: record.summary,
    preview: preview && previewToWire(preview),
    preview_digest: record.previewDigest,
    preview_binds: preview && record.previewBinds,
    policy_version: record.policyVersion,
    definition: record.definition,
    binding: record.binding,
    digest: digestOf(runs),
    shown_digest: shownDigest(record),
    routed: shownRouted(demand),
    votes: votes.map(shownVote),
    quorum_left: record.state === "pending" ? votesLeft(record, demand.quorum) : 0,
    remembers_allowed: demand.remembers,
    run_calls: record.runCalls,
    reason: record.reason,
    edited: record.edited,
    reminded_at: record.remindedAt,
    escalated_at: record.escalatedAt,
    on_expiry: "denied",
    how_to_approve: `POST /v1/approvals/${record.id}/approve`,
    decision: decision && shownVote(decision),
    viewer,
  };
}

function shownRouted(routed: Routed): ApprovalAnswer["routed"] {
  return {
    rule: routed.rule,
    to: routed.to,
    quorum: routed.quorum,
    typed_confirmation: routed.typedConfirmation,
    separate_user: routed.separateUser,
    signed_in: routed.signedIn,
    remind_at: routed.remindAt,
    escalate_at: routed.escalateAt,
    escalate_to: routed.escalateTo,
  };
}

function shownVote({
  onBehalfOf,
  ...vote
}: Vote | NonNullable<ApprovalRecord["decision"]>): ApprovalAnswer["votes"][number] {
  return { ...vote, on_behalf_of: onBehalfOf };
}

function isEdited({ asked, arguments: runs, decision }: ApprovalRecord): boolean {
  return decision?.as === "modified" || JSON.stringify(asked) !== JSON.stringify(runs);
}
