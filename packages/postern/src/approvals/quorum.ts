/** The effect of a decision on a request: votes under a quorum, edits, and the end. */
import {
  type ApprovalEndName,
  type ApprovalRecord,
  type ApprovalState,
  isSamePerson,
  type JsonObject,
  type Preview,
  type ReferencedArtifact,
  type Risk,
  type Vote,
  type Weighing,
} from "@postern/core";
import { previewDigest } from "./binding.ts";
import type { NewGrant } from "./grant.ts";
import { approverNow, type People } from "./people.ts";
import { unrouted } from "./routes.ts";

/** One decision to be written, also of the clock or of a policy. */
export interface WrittenDecision {
  readonly as: ApprovalEndName;
  readonly by: string;
  readonly via: string;
  readonly reason?: string | undefined;
  /** How many different persons must approve. Default 1. */
  readonly quorum?: number;
  /** With `modified`. */
  readonly edited?: EditedArguments | undefined;
  /** The grant to write together with the approval that ends the request. */
  readonly remember?: ((approved: ApprovalRecord) => NewGrant) | undefined;
}

/** `at`: wall clock, milliseconds. */
export type DatedDecision = WrittenDecision & { readonly at: number };

/** What runs instead, and its binding, as the gates computed them. */
export interface EditedArguments {
  readonly arguments: JsonObject;
  readonly artifacts?: readonly ReferencedArtifact[];
  readonly binding: string;
  readonly risk: Risk;
  readonly why: Weighing["reasons"];
  readonly summary?: string;
  /** The preview for other persons who must still approve. */
  readonly preview?: Preview;
}

/** The record after a decision, and whether it ends the request. Undefined if this person has voted already. */
type VoteCount = { readonly next: ApprovalRecord; readonly ends: boolean } | undefined;

/**
 * The record without the votes whose approver could not vote now: their account is disabled or has lost its role, or the
 * credential was revoked.
 */
export async function withStandingVotes(approval: ApprovalRecord, people: People): Promise<ApprovalRecord> {
  const { votes = [], principal } = approval;
  const barred = await Promise.all(
    votes.map(async ({ by, via }) => typeof (await approverNow(people, principal.tenant, { by, via })) === "string"),
  );
  return barred.includes(true) ? { ...approval, votes: votes.filter((_, i) => barred[i] !== true) } : approval;
}

/** Pure, so that a vote that lost a race is counted again on the record that won. */
export function count(approval: ApprovalRecord, decision: DatedDecision): VoteCount {
  switch (decision.as) {
    case "expired":
    case "withdrawn":
    case "revoked":
      return {
        next: withDecision(approval, decision.as === "revoked" ? "withdrawn" : decision.as, decision),
        ends: true,
      };
    case "modified":
      return withEdit(approval, decision);
    case "approved":
    case "denied":
    case "skipped":
      return withVote(approval, decision.as, decision);
  }
}

function withVote(approval: ApprovalRecord, as: Vote["as"], decision: DatedDecision): VoteCount {
  const { quorum = 1 } = decision;
  if (as === "approved" && hasVoted(approval, decision)) return undefined;
  const next = { ...approval, votes: [...(approval.votes ?? []), voteOf(as, decision)] };
  const ends = as !== "approved" || votesLeft(next, quorum) === 0;
  return ends ? { next: withDecision(next, as, decision), ends } : { next, ends };
}

/** Voids earlier votes, which were for other arguments. The edit is the first yes to these. */
function withEdit(approval: ApprovalRecord, decision: DatedDecision): VoteCount {
  const { edited: edit, by, via, at, quorum = 1 } = decision;
  if (edit === undefined) return undefined;
  const { preview: shown, previewDigest: _digest, summary: _summary, artifacts: _artifacts, ...others } = approval;
  const { askedPreview = shown, ...unseen } = others;
  const { preview, ...runs } = edit;
  const next = {
    ...unseen,
    ...runs,
    ...(askedPreview !== undefined && { askedPreview }),
    ...(preview !== undefined && { preview, previewDigest: previewDigest(preview) }),
    votes: [voteOf("approved", decision)],
  };
  if (quorum <= 1) return { next: withDecision(next, "approved", decision), ends: true };
  return { next: { ...next, edited: { by, via, at } }, ends: false };
}

function withDecision(approval: ApprovalRecord, state: ApprovalState, decision: DatedDecision): ApprovalRecord {
  const { as, by, via, at, reason } = decision;
  return { ...approval, state, decision: { as, by, via, at, ...(reason !== undefined && { reason }) } };
}

function voteOf(as: Vote["as"], { by, via, at, reason }: DatedDecision): Vote {
  return { as, by, via, at, ...(reason !== undefined && { reason }) };
}

/** How many different persons must still approve. */
export function votesLeft({ routed = unrouted, votes = [] }: ApprovalRecord, quorum: number = routed.quorum): number {
  return Math.max(0, quorum - votes.filter(({ as }) => as === "approved").length);
}

/** Why a vote is not counted: the person or the credential has voted already. */
export function alreadyVoted({ id = "it", votes = [] }: Votes, { by: user, via }: Pick<Vote, "by" | "via">): string {
  if (votes.some(({ by }) => isSamePerson(by, user)))
    return `\`${user}\` has voted on \`${id}\` already; another person must.`;
  const same = votes.find((vote) => vote.via === via);
  return same === undefined
    ? `The vote of \`${user}\` on \`${id}\` was cast already; another person must.`
    : `\`${same.via}\` has voted on \`${id}\` already, by \`${same.by}\`: another person with it counts as the same; sign in and decide there.`;
}

type Voter = Pick<Vote, "by" | "via">;

interface Votes {
  readonly id?: string;
  readonly votes?: readonly Voter[];
}

/** One person has one vote. Another credential gives no second one. */
export function hasVoted({ votes = [] }: Votes, { by, via }: Voter): boolean {
  return votes.some((vote) => vote.via === via || isSamePerson(vote.by, by));
}
