/** An approval record in the form of the contract. */
import { shownDigest } from "../../approvals/binding.ts";
import { votesLeft } from "../../approvals/quorum.ts";
import { unrouted } from "../../approvals/routes.ts";
import { digestOf } from "../../core/json.ts";
import type { ApprovalRecord, Routed } from "../../core/records.ts";
import { type ApprovalView, approval, type ViewerInput } from "../contract/approvals.ts";
import { type Source, shape } from "../contract/route.ts";
import { previewToWire } from "../contract/wire.ts";

export type ApprovalAnswer = Source<typeof approval>;

/** As a client reads it. */
export function shownApproval(record: ApprovalRecord): ApprovalView {
  return shape(approval, approvalAnswer(record));
}

interface ForViewer {
  readonly viewer?: ViewerInput | undefined;
  /** What a decision needs now. Default: what it needed when it was asked. */
  readonly requirement?: Routed | undefined;
}

export function approvalAnswer(
  record: ApprovalRecord,
  { viewer, requirement = record.routed ?? unrouted }: ForViewer = {},
): ApprovalAnswer {
  const { id, tool, action, arguments: runs, artifacts, preview, askedPreview, votes = [] } = record;
  return {
    ...record,
    approvalId: id,
    status: record.state,
    createdAt: record.requestedAt,
    refs: { run: record.runId, key: record.key },
    requestedBy: record.principal,
    riskLevel: record.risk,
    autonomyLevel: record.autonomy,
    what: { tool, action, arguments: runs, artifacts },
    asked: isEdited(record) ? record.asked : undefined,
    askedPreview: askedPreview && previewToWire(askedPreview),
    preview: preview && previewToWire(preview),
    previewBinds: preview && record.previewBinds,
    digest: digestOf(runs),
    shownDigest: shownDigest(record),
    routed: requirement,
    votes,
    quorumLeft: record.state === "pending" ? votesLeft(record, requirement.quorum) : 0,
    remembersAllowed: requirement.remembers,
    onExpiry: "denied",
    howToApprove: `POST /v1/approvals/${id}/approve`,
    viewer,
  };
}

function isEdited({ asked, arguments: runs, decision }: ApprovalRecord): boolean {
  return decision?.as === "modified" || JSON.stringify(asked) !== JSON.stringify(runs);
}
