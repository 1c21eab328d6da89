import { builtInName } from "../accounts/roles.ts";
import type { Actor } from "../calls/actor.ts";
import { isByHand } from "../calls/own-agents.ts";
import type { ApprovalRecord, Routed } from "../calls/records.ts";
import type { Audience } from "../stores/audience.ts";
import { shownDigest } from "./binding.ts";
import {
  actorOf,
  type Decided,
  type Decider,
  type DecisionRequest,
  decisions,
  isWellFormed,
  type Standing,
  type WhyNot,
} from "./decision.ts";
import type { Delegation } from "./delegation.ts";
import { isAmong, isOpen, stricter, unrouted } from "./routed.ts";
import type { Demand } from "./routing.ts";
import { hasSaid, votedAlready } from "./voting.ts";

/** What a decision is held against beside its request and the record. */
export interface Bench {
  /** What the routes demand now; what they demanded when it was asked stands on the record. The stricter counts. */
  readonly present: Demand;
  /** Whether people sign in here: the operator's token is nobody's sign-in then. */
  readonly accountsExist: boolean;
  /** The approver of this process, which was configured in code: what no route demands is not demanded of it. */
  readonly inProcess: boolean;
  /** Who gave the decider a word of theirs that still counts. */
  readonly lent: readonly Delegation[];
}

export interface Admitted {
  readonly admitted: true;
  readonly demand: Routed;
  readonly onBehalfOf?: string;
}

const operatorToken = "token:operator";

type Says = DecisionRequest["decision"];

interface Problem extends Pick<Extract<Decided, { decided: false }>, "code" | "message"> {
  /** In one word, where it is not about what was sent. */
  readonly why?: WhyNot;
}

/** Of a record, what is looked at; calls and grants are like one that is still to be decided. */
type Asked = Audience & Partial<Pick<ApprovalRecord, "id" | "state" | "decision">>;
type Place = { readonly onBehalfOf?: string };

/** Who may decide what, and what a yes must bring. The problem says what is missing; to another tenant there is nothing. */
export function admit(approval: ApprovalRecord, request: DecisionRequest, bench: Bench): Admitted | Problem {
  const { by, decision } = request;
  const place = hindrance(approval, by, bench, decision);
  if ("code" in place) return place;
  if (!isWellFormed(request))
    return {
      code: "decision_invalid",
      message:
        "A decision is `approved`, `denied`, `skipped` or `modified`. Arguments go with `modified`, and only with it.",
    };
  const demand = demandOf(approval, bench);
  const missing =
    changedSince(approval, request, isYes(decision)) ??
    (isYes(decision) ? missingFor(approval, request, demand, bench) : undefined);
  return missing ?? { admitted: true, demand, ...place };
}

/** What this person may say as things stand, whatever they bring: what the decision itself is held against. */
export function standingOf(approval: ApprovalRecord, by: Decider, bench: Bench): Omit<Standing, "lapsed"> {
  const yes = hindrance(approval, by, bench);
  const may = decisions.filter((says) => !("code" in hindrance(approval, by, bench, says)));
  if (!("code" in yes)) return { may, ...yes };
  const { why = "not_asked", message } = yes;
  return { may, whyNot: { why, message } };
}

/** Why this person may not say that to such a request as things stand; else in whose place they may. */
export function hindrance(approval: Asked, by: Decider, bench: Bench, says: Says = "approved"): Place | Problem {
  if (by.tenant !== undefined && by.tenant !== approval.principal.tenant)
    return { code: "approval_unknown", message: `There is no approval \`${approval.id}\`.` };
  if (approval.state !== undefined && approval.state !== "pending") return late(approval);
  const demand = demandOf(approval, bench);
  const isCounted = isYes(says) || (demand.quorum > 1 && demand.deny === "quorum");
  const place = placeOf(approval, by, bench);
  const problem =
    askedItself(approval, by, demand.separateUser) ??
    ("code" in place ? place : saidAlready(approval, { ...actorOf(by), ...place }, says, demand)) ??
    (isCounted ? noPerson(approval, by, demand, bench) : undefined) ??
    (isYes(says) ? unsigned(approval, by, demand, bench) : undefined);
  return problem ?? place;
}

function isYes(says: Says): boolean {
  return says === "approved" || says === "modified";
}

/** What is demanded of a decision on it: what was when it was asked, and what is now. */
export function demandOf({ routed = unrouted }: Audience, { present }: Pick<Bench, "present">): Routed {
  return stricter(routed, present);
}

/** A no that ends it counts whoever said what before; an edit begins anew. */
function saidAlready(approval: Asked, word: Actor & Place, says: Says, { deny }: Routed): Problem | undefined {
  if (says === "modified" || (says !== "approved" && deny === "any") || !hasSaid(approval, word)) return undefined;
  return { code: "approval_voted", message: votedAlready(approval, word), why: "voted" };
}

/** By credential always; by person where they called themself, and where that is asked for. */
function askedItself({ principal }: Audience, by: Decider, separateUser: boolean): Problem | undefined {
  const refusal = (who: string, other: "person" | "credential"): Problem => ({
    code: "decider_not_allowed",
    message: `\`${who}\` asked for this call and cannot decide it; another ${other} must.`,
    why: other === "person" ? "requester" : "credential",
  });
  if ((separateUser || isByHand(principal)) && isAsker({ principal }, by.user)) return refusal(by.user, "person");
  const { via: credential } = actorOf(by);
  const asker = principal.via ?? (principal.user === undefined ? `agent:${principal.agent}` : `user:${principal.user}`);
  if (credential === asker) return refusal(credential, "credential");
  return undefined;
}

/**
 * Where people have accounts, the operator's token is nobody of them: whose hand holds it is not known. So it is not one
 * more person, and not another one than who asked.
 */
export function noPerson(
  { tool, principal }: Audience,
  by: Decider,
  { quorum, separateUser }: Routed,
  { accountsExist }: Pick<Bench, "accountsExist">,
): Problem | undefined {
  if (!accountsExist || !isOfTheFolder(by)) return undefined;
  if (quorum === 1 && !separateUser && !isByHand(principal)) return undefined;
  const whom = quorum > 1 ? `${quorum} different persons` : "another person than who asked";
  return {
    code: "sign_in_needed",
    message: `\`${tool}\` is decided by ${whom}, and the operator's token is nobody in particular where people have accounts; sign in and decide there.`,
    why: "sign_in",
  };
}

/** Also by the link of the folder and by a token that was made with either: no account has this name. */
function isOfTheFolder({ user, via }: Pick<Decider, "user" | "via">): boolean {
  return via === operatorToken || (user === builtInName && via !== undefined && ofTheFolder.test(via));
}
const ofTheFolder = /^(session:operator$|token:tok_)/;

function isAsker({ principal }: Pick<Audience, "principal">, user: string): boolean {
  return user === principal.user || user === principal.owner;
}

/** In whose place this person decides: their own, or that of somebody who gave them their word until a time. */
function placeOf(
  approval: Audience,
  by: Decider,
  bench: Pick<Bench, "present" | "lent">,
): { readonly onBehalfOf?: string } | Problem {
  const isAsked = (person: Parameters<typeof isAmong>[1]): boolean => isAskedOf(approval, bench.present, person);
  if (isAsked(by)) return {};
  const giver = bench.lent.find(
    (one) =>
      one.tenant === approval.principal.tenant &&
      !isAsker(approval, one.from) && // whoever asked gives nobody a word on it
      !isAsker(approval, by.user) &&
      isAsked({ user: one.from, ...(one.roles && { roles: one.roles }), ...(one.groups && { groups: one.groups }) }),
  );
  if (giver !== undefined) return { onBehalfOf: giver.from };
  const { rule } = approval.routed ?? unrouted;
  return {
    code: "decider_not_allowed",
    message: `\`${by.user}\` is none of those whom the route \`${rule}\` sends this to; one of them must decide, or delegate.`,
    why: "not_asked",
  };
}

/** Whether the request is sent to this person, as it was and as it would be now. */
function isAskedOf(approval: Audience, present: Demand, person: Parameters<typeof isAmong>[1]): boolean {
  const recorded = approval.routed ?? unrouted;
  const isEscalated = approval.escalatedAt !== undefined && recorded.escalateTo !== undefined;
  if (isEscalated && recorded.escalateTo !== undefined && isIn(recorded.escalateTo, person)) return true;
  return isIn(recorded.to, person) && isIn(present.to, person);
}

function isIn(to: Routed["to"], person: Parameters<typeof isAmong>[1]): boolean {
  return isOpen(to) || isAmong(to, person);
}

/** A yes is to what was shown. After an edit it must say what that was: nobody agrees to what they have not seen. */
function changedSince(approval: ApprovalRecord, request: DecisionRequest, isYes: boolean): Problem | undefined {
  const { expectedDigest: expected } = request;
  const { id, edited } = approval;
  const isStale = expected !== undefined && expected !== shownDigest(approval);
  const isBlind = isYes && expected === undefined && edited !== undefined;
  if (!isStale && !isBlind) return undefined;
  const what =
    edited === undefined ? `What you saw is not what \`${id}\` asks` : `\`${id}\` was edited by \`${edited.by}\``;
  return {
    code: "approval_changed",
    message: `${what}; look at it again, and send its \`shown_digest\` as \`expected_digest\`.`,
  };
}

/** What is still to be typed. */
function missingFor(
  approval: ApprovalRecord,
  { confirmation }: DecisionRequest,
  demand: Routed,
  bench: Bench,
): Problem | undefined {
  if (isFree(demand, bench) || !demand.typedConfirmation || confirmation === approval.tool) return undefined;
  const given = confirmation === undefined ? "nothing was typed" : `\`${confirmation.slice(0, 100)}\` was typed`;
  return {
    code: "confirmation_needed",
    message: `To approve this, type the tool's name, \`${approval.tool}\`, as \`confirmation\`; ${given}.`,
  };
}

function unsigned({ tool, risk }: Audience, by: Decider, demand: Routed, bench: Bench): Problem | undefined {
  const { inProcess, accountsExist } = bench;
  if (isFree(demand, bench) || !demand.signedIn || (!inProcess && isSignedIn(by, accountsExist))) return undefined;
  const instead = inProcess ? "an approver in code" : "a token";
  return {
    code: "sign_in_needed",
    message: `\`${tool}\` at risk ${risk} is approved by a person who signed in, not by ${instead}; sign in and decide there.`,
    why: "sign_in",
  };
}

/** The approver in code, where no route says more. */
function isFree({ rule }: Routed, { inProcess, present }: Bench): boolean {
  return inProcess && rule === "default" && present.rule === "default";
}

/** Without accounts there is no other way to sign in than the operator's own token. */
export function isSignedIn({ via, signedIn }: Decider, accountsExist: boolean): boolean {
  if (via === operatorToken && !accountsExist) return true;
  return signedIn ?? (via === undefined || !via.startsWith("token:"));
}

export function late(approval: Pick<Asked, "id" | "state" | "decision">): Problem {
  if (approval.state === "expired")
    return {
      code: "approval_expired",
      message: `The approval \`${approval.id}\` has expired; the call must be sent again.`,
      why: "over",
    };
  const by = approval.decision === undefined ? "" : ` by ${approval.decision.by}`;
  const state = approval.state === "used" ? `approved${by}, and used` : `${approval.state}${by}`;
  return { code: "approval_decided", message: `The approval \`${approval.id}\` is ${state} already.`, why: "over" };
}
