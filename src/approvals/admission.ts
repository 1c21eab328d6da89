import { builtInName } from "../accounts/roles.ts";
import type { Actor } from "../calls/actor.ts";
import { isElsewhere } from "../calls/authority.ts";
import { isByHand } from "../calls/own-agents.ts";
import type { ApprovalRecord, Given, Routed, Said } from "../calls/records.ts";
import { isSamePerson } from "../calls/same-person.ts";
import type { Audience } from "../stores/audience.ts";
import { shownDigest } from "./binding.ts";
import {
  actorOf,
  type Decided,
  type Decider,
  type DecisionRequest,
  decisions,
  isWellFormed,
  noApproval,
  operatorToken,
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

/** In whose place somebody speaks, and by which delegation; neither: their own. */
type Place = Pick<Said, "onBehalfOf" | "delegation">;

export interface Admitted extends Place {
  readonly admitted: true;
  readonly demand: Routed;
  readonly given: Given;
}

type Says = DecisionRequest["decision"];

interface Problem extends Pick<Extract<Decided, { decided: false }>, "code" | "message"> {
  /** In one word, where it is not about what was sent. */
  readonly why?: WhyNot;
}

/** Of a record, what is looked at; calls and grants are like one that is still to be decided. */
type Asked = Audience & Partial<Pick<ApprovalRecord, "id" | "state" | "decision">>;

/** Who says something to what, and what is held against it. */
interface Hearing {
  readonly approval: Asked;
  readonly by: Decider;
  readonly demand: Routed;
  readonly bench: Bench;
}

/** Who may decide what, and what a yes must bring. The problem says what is missing; to another tenant there is nothing. */
export function admit(approval: ApprovalRecord, request: DecisionRequest, bench: Bench): Admitted | Problem {
  const { by, decision } = request;
  const place = hindrance(approval, { by, says: decision }, bench);
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
    (isYes(decision) ? missingFor(request, { approval, by, demand, bench }) : undefined);
  return missing ?? { admitted: true, demand, given: givenBy(request, approval, bench), ...place };
}

/** What this person may say as things stand, whatever they bring: what the decision itself is held against. */
export function standingOf(approval: ApprovalRecord, by: Decider, bench: Bench): Standing {
  const yes = hindrance(approval, { by }, bench);
  const may = decisions.filter((says) => !("code" in hindrance(approval, { by, says }, bench)));
  const demand = approval.state === "pending" ? demandOf(approval, bench) : (approval.routed ?? unrouted);
  if (!("code" in yes)) return { may, demand, ...(yes.onBehalfOf !== undefined && { onBehalfOf: yes.onBehalfOf }) };
  const { why = "not_asked", message } = yes;
  return { may, demand, whyNot: { why, message } };
}

/**
 * Why this person may not say that to such a request as things stand; else in whose place they may. The one answer to
 * what counts: of what is said now, of a yes that is remembered (givers.ts), and of a word that was lent.
 */
export function hindrance(
  approval: Asked,
  { by, says = "approved" }: { readonly by: Decider; readonly says?: Says },
  bench: Bench,
): Place | Problem {
  if (isElsewhere(approval.principal, by.tenant))
    return { code: "approval_unknown", message: noApproval(approval.id ?? "") };
  if (approval.state !== undefined && approval.state !== "pending") return late(approval);
  const demand = demandOf(approval, bench);
  const hearing = { approval, by, demand, bench };
  const place = placeOf(hearing, says);
  const problem =
    askedItself(approval, by, demand.separateUser) ??
    ("code" in place ? place : saidAlready(hearing, { ...actorOf(by), ...place }, says)) ??
    (isYes(says) ? noPerson(hearing) : undefined) ??
    (isYes(says) ? unsigned(hearing) : undefined);
  return problem ?? place;
}

export function isYes(says: Says): boolean {
  return says === "approved" || says === "modified";
}

/** What is demanded of a decision on it: what was when it was asked, and what is now. */
export function demandOf({ routed = unrouted }: Audience, { present }: Pick<Bench, "present">): Routed {
  return stricter(routed, present);
}

/** Only a yes is counted: a no ends the request, and an edit starts the count again. */
function saidAlready({ approval }: Hearing, word: Actor & Place, says: Says): Problem | undefined {
  if (says !== "approved" || !hasSaid(approval, word)) return undefined;
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
function noPerson({
  approval: { tool, principal },
  by,
  demand: { quorum, separateUser },
  bench: { accountsExist },
}: Hearing): Problem | undefined {
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

/** Whether they called, by their own hand or by an agent of theirs. */
export function isAsker({ principal }: Pick<Audience, "principal">, user: string): boolean {
  return isSamePerson(user, principal.user) || isSamePerson(user, principal.owner);
}

/** In whose place this person says it: their own, or that of the first who lent them a word that could still be said. */
function placeOf({ approval, by, bench }: Hearing, says: Says): Place | Problem {
  const closed = closedTo(by, approval, bench.present);
  if (closed === undefined) return {};
  const lent = isAsker(approval, by.user) ? [] : bench.lent.filter(({ from }) => !isAsker(approval, from)); // whoever asked gives nobody a word on it
  const said: Problem[] = [];
  for (const { id, from, ...giver } of lent) {
    const word = { by: { ...giver, user: from }, says };
    const found = hindrance(approval, word, { ...bench, inProcess: false, lent: [] }); // none is handed on
    if (!("code" in found)) return { onBehalfOf: from, delegation: id };
    if (found.why === "voted") said.push(found);
  }
  const [voted] = said;
  const message = `\`${by.user}\` is none of those whom the route \`${closed.rule}\` sends this to; one of them must decide, or delegate.`;
  return voted ?? { code: "decider_not_allowed", message, why: "not_asked" };
}

/** The route that does not send it to this person, of the one it was asked by and the one of now. */
function closedTo(person: Decider, { routed = unrouted, escalatedAt }: Audience, present: Demand): Demand | undefined {
  const isIn = (to: Routed["to"]): boolean => isOpen(to) || isAmong(to, person);
  return [routed, present].find(
    ({ to, escalateTo }) => !isIn(to) && (escalatedAt === undefined || escalateTo === undefined || !isIn(escalateTo)),
  );
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
function missingFor({ confirmation }: DecisionRequest, { approval, demand, bench }: Hearing): Problem | undefined {
  if (isFree(demand, bench) || !demand.typedConfirmation || confirmation === approval.tool) return undefined;
  const given = confirmation === undefined ? "nothing was typed" : `\`${confirmation.slice(0, 100)}\` was typed`;
  return {
    code: "confirmation_needed",
    message: `To approve this, type the tool's name, \`${approval.tool}\`, as \`confirmation\`; ${given}.`,
  };
}

function unsigned({ approval: { tool, risk }, by, demand, bench }: Hearing): Problem | undefined {
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

/** Without accounts there is no other way to sign in than the operator's own token; with them, it is nobody's sign-in. */
function isSignedIn(by: Decider, accountsExist: boolean): boolean {
  const { via, signedIn } = by;
  if (accountsExist && isOfTheFolder(by)) return false;
  if (via === operatorToken) return true;
  return signedIn ?? (via === undefined || !via.startsWith("token:"));
}

/** What is kept of how it was said. */
function givenBy({ by, confirmation }: DecisionRequest, { tool }: Audience, bench: Bench): Given {
  return {
    ...(by.roles !== undefined && { roles: by.roles }),
    ...(by.groups !== undefined && { groups: by.groups }),
    signedIn: !bench.inProcess && isSignedIn(by, bench.accountsExist),
    typed: confirmation === tool,
  };
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
