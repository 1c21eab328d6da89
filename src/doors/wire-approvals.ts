/** Approvals as they are spelled outside; the rest stands in wire.ts. */
import { shownDigest } from "../approvals/binding.ts";
import type { DecisionRequest, Eligible, WhyNot } from "../approvals/decision.ts";
import { votesLeft } from "../approvals/quorum.ts";
import { unrouted } from "../approvals/routes.ts";
import type { Risk } from "../calls/call.ts";
import type { Reason } from "../calls/event.ts";
import { digestOf, type JsonObject } from "../calls/json.ts";
import type { Addressees, ApprovalRecord, ApprovalState, Routed, Vote } from "../calls/records.ts";
import { iso, isoOrNothing, type PreviewWire, type PrincipalWire, previewToWire, principalToWire } from "./wire.ts";

/** SPEC 8.5. `what` is exactly what runs if it is approved; `asked` is there when that is not what was asked for. */
export interface ApprovalWire {
  readonly approval_id: string;
  readonly status: ApprovalState;
  readonly created_at: string;
  readonly expires_at: string;
  readonly trace_id: string;
  readonly refs: { readonly run: string; readonly key: string };
  readonly requested_by: PrincipalWire;
  readonly risk_level: Risk;
  readonly autonomy_level?: string | undefined;
  readonly what: {
    readonly tool: string;
    readonly action: string;
    readonly arguments: JsonObject;
    /** What the references in `arguments` stand for. */
    readonly artifacts?: readonly ArtifactWire[] | undefined;
  };
  readonly asked?: JsonObject | undefined;
  /** With `asked`: what was shown of that. */
  readonly asked_preview?: PreviewWire | undefined;
  readonly why: readonly Reason[];
  readonly summary?: string | undefined;
  readonly preview?: PreviewWire | undefined;
  readonly preview_digest?: string | undefined;
  /** Whether it must be the same when the call runs; `false`: it may differ then. */
  readonly preview_binds?: boolean | undefined;
  readonly policy_version: string;
  readonly definition: string;
  readonly binding: string;
  /** SHA-256 over the RFC 8785 text of `what.arguments`. */
  readonly digest: string;
  /** Of all that a card shows of what would run: a decision carries it as `expected_digest`. */
  readonly shown_digest: string;
  /** Of the tool as it is offered now. Of one approval only, not in lists. */
  readonly input_schema?: JsonObject | undefined;
  /** What is demanded of a decision now; of one that is over, what was. */
  readonly routed: RoutedWire;
  readonly votes: readonly VoteWire[];
  /** How many different persons must still say yes. */
  readonly quorum_left: number;
  readonly remembers_allowed: boolean;
  readonly run_calls?: number | undefined;
  /** The agent's own word; nobody has checked it. */
  readonly reason?: string | undefined;
  readonly edited?: { readonly by: string; readonly via: string; readonly at: string } | undefined;
  readonly reminded_at?: string | undefined;
  readonly escalated_at?: string | undefined;
  readonly on_expiry: "denied";
  readonly how_to_approve: string;
  readonly decision?: VoteWire | undefined;
  /** What whoever asks may say to it. */
  readonly viewer?: ViewerWire | undefined;
}

/** An artifact that the arguments name. Without `text` it is too large to look at. */
export interface ArtifactWire {
  readonly path: string;
  readonly digest: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly text?: string | undefined;
}

export type DecisionVerb = "approve" | "deny" | "skip" | "modify";

/** By the rules that hold when they say it. */
export interface ViewerWire {
  readonly may: readonly DecisionVerb[];
  /** Why they may not approve, in one word and in a sentence. `role`: they decide nothing at all. */
  readonly why_not?: WhyNot | "role" | undefined;
  readonly message?: string | undefined;
  /** In whose place they decide. */
  readonly on_behalf_of?: string | undefined;
  /** They asked for it, by hand or through an agent of theirs, and may take it back as long as it waits. */
  readonly withdraws?: true | undefined;
}

export interface VoteWire {
  readonly as: string;
  readonly by: string;
  /** The credential they said it with. */
  readonly via: string;
  readonly at: string;
  readonly on_behalf_of?: string | undefined;
  readonly reason?: string | undefined;
}

export interface RoutedWire {
  readonly rule: string;
  readonly to: Addressees;
  readonly quorum: number;
  readonly typed_confirmation: boolean;
  readonly separate_user: boolean;
  readonly signed_in: boolean;
  readonly remind_at?: string | undefined;
  readonly escalate_at?: string | undefined;
  readonly escalate_to?: Addressees | undefined;
}

const verbs: Readonly<Record<DecisionRequest["decision"], DecisionVerb>> = {
  approved: "approve",
  denied: "deny",
  skipped: "skip",
  modified: "modify",
};

export function viewerToWire({ may, whyNot, onBehalfOf }: Omit<Eligible, "demand">): ViewerWire {
  return {
    may: may.map((says) => verbs[says]),
    why_not: whyNot?.why,
    message: whyNot?.message,
    on_behalf_of: onBehalfOf,
  };
}

function voteToWire({ as, by, via, at, onBehalfOf, reason }: NonNullable<ApprovalRecord["decision"]> | Vote): VoteWire {
  return { as, by, via, at: iso(at), on_behalf_of: onBehalfOf, reason };
}

function routedToWire(routed: Routed): RoutedWire {
  return {
    rule: routed.rule,
    to: routed.to,
    quorum: routed.quorum,
    typed_confirmation: routed.typedConfirmation,
    separate_user: routed.separateUser,
    signed_in: routed.signedIn,
    remind_at: isoOrNothing(routed.remindAt),
    escalate_at: isoOrNothing(routed.escalateAt),
    escalate_to: routed.escalateTo,
  };
}

interface Beside {
  /** Of one approval only: what a form is made from. */
  readonly inputSchema?: JsonObject | undefined;
  readonly viewer?: ViewerWire | undefined;
  /** What is demanded of a decision now. Default: what was when it was asked. */
  readonly demand?: Routed | undefined;
}

export function approvalToWire(
  approval: ApprovalRecord,
  { inputSchema, viewer, demand = approval.routed ?? unrouted }: Beside = {},
): ApprovalWire {
  const { decision, edited, votes = [] } = approval;
  return {
    approval_id: approval.id,
    status: approval.state,
    created_at: iso(approval.requestedAt),
    expires_at: iso(approval.expiresAt),
    trace_id: approval.traceId,
    refs: { run: approval.runId, key: approval.key },
    requested_by: principalToWire(approval.principal),
    risk_level: approval.risk,
    autonomy_level: approval.autonomy,
    what: {
      ...{ tool: approval.tool, action: approval.action, arguments: approval.arguments },
      artifacts: approval.artifacts?.map(({ mediaType, ...one }) => ({ ...one, media_type: mediaType })),
    },
    asked: isEdited(approval) ? approval.asked : undefined,
    asked_preview: approval.askedPreview && previewToWire(approval.askedPreview),
    why: approval.why,
    summary: approval.summary,
    preview: approval.preview && previewToWire(approval.preview),
    preview_digest: approval.previewDigest,
    preview_binds: approval.preview && approval.previewBinds,
    policy_version: approval.policyVersion,
    definition: approval.definition,
    binding: approval.binding,
    digest: digestOf(approval.arguments),
    shown_digest: shownDigest(approval),
    input_schema: inputSchema,
    routed: routedToWire(demand),
    votes: votes.map(voteToWire),
    quorum_left: approval.state === "pending" ? votesLeft(approval, demand.quorum) : 0,
    remembers_allowed: demand.remembers,
    run_calls: approval.runCalls,
    reason: approval.reason,
    edited: edited && { by: edited.by, via: edited.via, at: iso(edited.at) },
    reminded_at: isoOrNothing(approval.remindedAt),
    escalated_at: isoOrNothing(approval.escalatedAt),
    on_expiry: "denied",
    how_to_approve: `POST /v1/approvals/${approval.id}/approve`,
    decision: decision && voteToWire(decision),
    viewer,
  };
}

function isEdited({ asked, arguments: runs, decision }: ApprovalRecord): boolean {
  return decision?.as === "modified" || JSON.stringify(asked) !== JSON.stringify(runs);
}
