import type { ApprovalRecord, ApprovalState, Vote } from "../calls/records.ts";
import { isSamePerson } from "../calls/same-person.ts";
import { previewDigest } from "./binding.ts";
import { votesLeft } from "./routed.ts";
import type { Dated } from "./ruling.ts";

/** What a ruling makes of the record; `ends`: nobody else need be asked. Undefined: that person's word is counted already. */
export type Counted = { readonly next: ApprovalRecord; readonly ends: boolean } | undefined;

/** Pure, so that a lost race can be counted anew on the record that won. */
export function counted(approval: ApprovalRecord, ruling: Dated): Counted {
  switch (ruling.as) {
    case "expired":
    case "withdrawn":
    case "revoked":
      return { next: ended(approval, ruling.as === "revoked" ? "withdrawn" : ruling.as, ruling), ends: true };
    case "modified":
      return edited(approval, ruling);
    case "approved":
    case "denied":
    case "skipped":
      return voted(approval, ruling.as, ruling);
  }
}

function voted(approval: ApprovalRecord, as: Vote["as"], ruling: Dated): Counted {
  const { quorum = 1 } = ruling;
  if (as === "approved" && hasSaid(approval, ruling)) return undefined;
  const next = { ...approval, votes: [...(approval.votes ?? []), voteOf(as, ruling)] };
  const ends = as !== "approved" || votesLeft(next, quorum) === 0;
  return ends ? { next: ended(next, as, ruling), ends } : { next, ends };
}

/** Others said yes to other arguments: what they said is void, and the editor's is the first yes to these. */
function edited(approval: ApprovalRecord, ruling: Dated): Counted {
  const { edited: edit, by, via, at, quorum = 1 } = ruling;
  if (edit === undefined) return undefined;
  // All of it was of other arguments.
  const { preview: shown, previewDigest: _digest, summary: _said, artifacts: _held, ...others } = approval;
  const { askedPreview = shown, ...unseen } = others;
  const { preview, ...runs } = edit;
  const next = {
    ...unseen,
    ...runs,
    ...(askedPreview !== undefined && { askedPreview }),
    ...(preview !== undefined && { preview, previewDigest: previewDigest(preview) }),
    votes: [voteOf("approved", ruling)],
  };
  if (quorum <= 1) return { next: ended(next, "approved", ruling), ends: true };
  return { next: { ...next, edited: { by, via, at } }, ends: false };
}

function ended(approval: ApprovalRecord, state: ApprovalState, ruling: Dated): ApprovalRecord {
  const { as, by, via, at, reason, onBehalfOf } = ruling;
  const who = { as, by, via, at, ...(reason !== undefined && { reason }) };
  return { ...approval, state, decision: { ...who, ...(onBehalfOf !== undefined && { onBehalfOf }) } };
}

function voteOf(as: Vote["as"], { by, via, at, onBehalfOf, reason }: Dated): Vote {
  return {
    as,
    by,
    via,
    at,
    ...(onBehalfOf !== undefined && { onBehalfOf }),
    ...(reason !== undefined && { reason }),
  };
}

/** Why this word was not counted: whose it would be the second of. */
export function votedAlready({ id = "it", votes = [] }: Voted, { by: user, via }: Pick<Vote, "by" | "via">): string {
  const own = votes.find((vote) => isOneOf(vote, user));
  if (own !== undefined) {
    const inPlace = isSamePerson(own.by, user) ? "" : `, by \`${own.by}\` in their place`;
    return `\`${user}\` has said a word on \`${id}\` already${inPlace}; another person must.`;
  }
  const same = votes.find((vote) => vote.via === via);
  return same === undefined
    ? `The word that \`${user}\` would say on \`${id}\` was said already; another person must.`
    : `\`${same.via}\` has had its word on \`${id}\` already, by \`${same.by}\`: whoever else comes by it counts as the same; sign in and decide there.`;
}

type Speaking = { readonly by: string; readonly via: string; readonly onBehalfOf?: string | undefined };

interface Voted {
  readonly id?: string;
  readonly votes?: readonly Speaking[];
}

/** One person, one word: neither another credential nor a delegation makes two of one. */
export function hasSaid({ votes = [] }: Voted, { by, via, onBehalfOf = by }: Speaking): boolean {
  return votes.some((vote) => vote.via === via || isOneOf(vote, by) || isOneOf(vote, onBehalfOf));
}

/** Whether this person said it, or it was said in their place. */
function isOneOf({ by, onBehalfOf }: Speaking, person: string): boolean {
  return isSamePerson(person, by) || isSamePerson(person, onBehalfOf);
}
