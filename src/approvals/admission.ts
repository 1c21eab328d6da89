import { digestOf } from "../calls/json.ts";
import { isByHand } from "../calls/own-agents.ts";
import type { ApprovalRecord, Routed } from "../calls/records.ts";
import type { Audience } from "../stores/audience.ts";
import { type Decided, type Decider, type DecisionRequest, isWellFormed } from "./decision.ts";
import type { Delegation } from "./delegation.ts";
import { isAmong, isOpen, stricter, unrouted } from "./routed.ts";
import type { Demand } from "./routing.ts";

/** What a decision is held against beside its request and the record. */
export interface Bench {
  /** What the routes demand now; what they demanded when it was asked stands on the record. The stricter counts. */
  readonly present: Demand;
  /** Whether people sign in here: the operator's token is nobody's sign-in then. */
  readonly accountsExist: boolean;
  /** The approver of this process, which was configured in code: what no route demands is not demanded of it. */
  readonly inProcess: boolean;
  /** Who gave this person a word of theirs, now. */
  readonly delegators: (by: Decider) => readonly Delegation[];
}

export interface Admitted {
  readonly admitted: true;
  readonly demand: Routed;
  readonly onBehalfOf?: string;
}

const operatorToken = "token:operator";

type Problem = Pick<Extract<Decided, { decided: false }>, "code" | "message">;

/** Who may decide what, and what a yes must bring. The problem says what is missing; to another tenant there is nothing. */
export function admit(approval: ApprovalRecord, request: DecisionRequest, bench: Bench): Admitted | Problem {
  const { by } = request;
  if (by.tenant !== undefined && by.tenant !== approval.principal.tenant)
    return { code: "approval_unknown", message: `There is no approval \`${approval.id}\`.` };
  const recorded = approval.routed ?? unrouted;
  const demand = stricter(recorded, bench.present);
  const asker = askedItself(approval, by, demand.separateUser);
  if (asker !== undefined) return asker;
  if (!isWellFormed(request))
    return {
      code: "decision_invalid",
      message:
        "A decision is `approved`, `denied`, `skipped` or `modified`. Arguments go with `modified`, and only with it.",
    };
  if (approval.state !== "pending") return late(approval);
  const place = placeOf(approval, by, bench);
  if ("code" in place) return place;
  const isYes = request.decision === "approved" || request.decision === "modified";
  const counts = isYes || (demand.quorum > 1 && demand.deny === "quorum");
  const missing =
    changedSince(approval, request, isYes) ??
    (counts ? noPerson(approval, by, demand, bench) : undefined) ??
    (isYes ? missingFor(approval, request, demand, bench) : undefined);
  return missing ?? { admitted: true, demand, ...place };
}

/** Whether this person may decide it as things stand, while it is pending: what `mine` lists. */
export function mayDecide(approval: Audience, by: Decider, bench: Bench): boolean {
  if (by.tenant !== undefined && by.tenant !== approval.principal.tenant) return false;
  const voted = approval.votes?.some((vote) => vote.by === by.user || vote.onBehalfOf === by.user) === true;
  return !voted && !("code" in hindrance(approval, by, bench));
}

/** Why this person may say no yes to such a request as things stand; else in whose place they may. */
export function hindrance(
  approval: Audience,
  by: Decider,
  bench: Omit<Bench, "inProcess">,
): { readonly onBehalfOf?: string } | Problem {
  const demand = stricter(approval.routed ?? unrouted, bench.present);
  const problem = askedItself(approval, by, demand.separateUser) ?? noPerson(approval, by, demand, bench);
  if (problem !== undefined) return problem;
  if (demand.signedIn && !isSignedIn(by, bench.accountsExist)) return signInNeeded(approval, "a token");
  return placeOf(approval, by, bench);
}

/** By credential always; by person where they called themself, and where that is asked for. */
function askedItself({ principal }: Audience, by: Decider, separateUser: boolean): Problem | undefined {
  const refusal = (who: string, other: string): Problem => ({
    code: "decider_not_allowed",
    message: `\`${who}\` asked for this call and cannot decide it; another ${other} must.`,
  });
  if ((separateUser || isByHand(principal)) && isAsker({ principal }, by.user)) return refusal(by.user, "person");
  const credential = by.via ?? `user:${by.user}`;
  const asker = principal.via ?? (principal.user === undefined ? `agent:${principal.agent}` : `user:${principal.user}`);
  if (credential === asker) return refusal(credential, "credential");
  return undefined;
}

/**
 * Where people have accounts, the operator's token is nobody of them: whose hand holds it is not known. So it is not one
 * more person, and not another one than who asked.
 */
function noPerson(
  { tool, principal }: Audience,
  by: Decider,
  { quorum, separateUser }: Routed,
  { accountsExist }: Pick<Bench, "accountsExist">,
): Problem | undefined {
  if (by.via !== operatorToken || !accountsExist) return undefined;
  if (quorum === 1 && !separateUser && !isByHand(principal)) return undefined;
  const whom = quorum > 1 ? `${quorum} different persons` : "another person than who asked";
  return {
    code: "sign_in_needed",
    message: `\`${tool}\` is decided by ${whom}, and the operator's token is nobody in particular where people have accounts; sign in and decide there.`,
  };
}

function isAsker({ principal }: Pick<Audience, "principal">, user: string): boolean {
  return user === principal.user || user === principal.owner;
}

/** In whose place this person decides: their own, or that of somebody who gave them their word until a time. */
function placeOf(
  approval: Audience,
  by: Decider,
  bench: Pick<Bench, "present" | "delegators">,
): { readonly onBehalfOf?: string } | Problem {
  const isAsked = (person: Parameters<typeof isAmong>[1]): boolean => isAskedOf(approval, bench.present, person);
  if (isAsked(by)) return {};
  const giver = bench.delegators(by).find(
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
  };
}

/** Whether the request is sent to this person, as it was and as it would be now. */
export function isAskedOf(approval: Audience, present: Demand, person: Parameters<typeof isAmong>[1]): boolean {
  const recorded = approval.routed ?? unrouted;
  const isEscalated = approval.escalatedAt !== undefined && recorded.escalateTo !== undefined;
  if (isEscalated && recorded.escalateTo !== undefined && isIn(recorded.escalateTo, person)) return true;
  return isIn(recorded.to, person) && isIn(present.to, person);
}

function isIn(to: Routed["to"], person: Parameters<typeof isAmong>[1]): boolean {
  return isOpen(to) || isAmong(to, person);
}

/** A yes is to what was shown. After an edit it must say which arguments it means: nobody agrees to what they have not seen. */
function changedSince(approval: ApprovalRecord, request: DecisionRequest, isYes: boolean): Problem | undefined {
  const { expectedDigest: expected } = request;
  const isStale = expected !== undefined && expected !== approval.binding && expected !== digestOf(approval.arguments);
  const isBlind = isYes && expected === undefined && approval.edited !== undefined;
  if (!isStale && !isBlind) return undefined;
  const { by = "somebody" } = approval.edited ?? {};
  return {
    code: "approval_changed",
    message: `\`${approval.id}\` was edited by \`${by}\`; look at it again, and send the digest of what you saw as \`expected_digest\`.`,
  };
}

function missingFor(
  approval: ApprovalRecord,
  { by, confirmation }: DecisionRequest,
  demand: Routed,
  { inProcess, accountsExist, present }: Bench,
): Problem | undefined {
  const isUnrouted = demand.rule === "default" && present.rule === "default";
  if (inProcess && isUnrouted) return undefined;
  if (demand.signedIn && (inProcess || !isSignedIn(by, accountsExist)))
    return signInNeeded(approval, inProcess ? "an approver in code" : "a token");
  if (!demand.typedConfirmation || confirmation === approval.tool) return undefined;
  const given = confirmation === undefined ? "nothing was typed" : `\`${confirmation.slice(0, 100)}\` was typed`;
  return {
    code: "confirmation_needed",
    message: `To approve this, type the tool's name, \`${approval.tool}\`, as \`confirmation\`; ${given}.`,
  };
}

function signInNeeded({ tool, risk }: Audience, instead: string): Problem {
  return {
    code: "sign_in_needed",
    message: `\`${tool}\` at risk ${risk} is approved by a person who signed in, not by ${instead}; sign in and decide there.`,
  };
}

/** Without accounts there is no other way to sign in than the operator's own token. */
export function isSignedIn({ via, signedIn }: Decider, accountsExist: boolean): boolean {
  if (via === operatorToken && !accountsExist) return true;
  return signedIn ?? (via === undefined || !via.startsWith("token:"));
}

export function late(approval: ApprovalRecord): Problem {
  if (approval.state === "expired")
    return {
      code: "approval_expired",
      message: `The approval \`${approval.id}\` has expired; the call must be sent again.`,
    };
  const by = approval.decision === undefined ? "" : ` by ${approval.decision.by}`;
  const state = approval.state === "used" ? `approved${by}, and used` : `${approval.state}${by}`;
  return { code: "approval_decided", message: `The approval \`${approval.id}\` is ${state} already.` };
}
