/**
 * Who may decide what: of a request and of a grant.
 *
 * Invariant: a decision, the list of a person's own requests and the card they see ask the same `checkEligible`. A grant
 * asks it for its approver each time it answers. A vote is checked when it is cast, and its approver again with each
 * further vote.
 */

import {
  type Actor,
  type ApprovalRecord,
  builtInName,
  type DeciderState,
  isDirectCall,
  isSamePerson,
  type Routed,
} from "@postern/core";
import { isElsewhere } from "../call/authority.ts";
import type { Audience } from "../store/audience.ts";
import { shownDigest } from "./binding.ts";
import {
  actorOf,
  type Decider,
  type DecisionAnswer,
  type DecisionRequest,
  decisions,
  type Eligible,
  isWellFormed,
  noApproval,
  operatorToken,
  type WhyNot,
} from "./decision.ts";
import type { Grant } from "./grant.ts";
import { approverNow, type People, stillHeld } from "./people.ts";
import { alreadyVoted, hasVoted } from "./quorum.ts";
import { isAmong, isOpen, type Requirement, type Routing, stricter, unrouted } from "./routes.ts";

/** What a decision is checked against, beside the request and the record. */
export interface DecisionContext {
  /** What the routes require now. The record keeps what they required when it was asked; the stricter counts. */
  readonly present: Requirement;
  /** If people sign in here, the operator's token does not stand for a person. */
  readonly accountsExist: boolean;
  /** The approver of this process, configured in code. It meets only the requirements of a route. */
  readonly inProcess: boolean;
}

export interface AdmittedDecision {
  readonly requirement: Routed;
  readonly approver: DeciderState;
}

type DecisionName = DecisionRequest["decision"];

interface EligibilityProblem extends Pick<Extract<DecisionAnswer, { decided: false }>, "code" | "message"> {
  /** Missing if the problem is about what was sent. */
  readonly why?: WhyNot;
}

/** A call or a grant has no state and is treated like an open request. */
type Subject = Audience & Partial<Pick<ApprovalRecord, "id" | "state" | "decision">>;

interface EligibilityCheck {
  readonly approval: Subject;
  readonly by: Decider;
  readonly requirement: Routed;
  readonly context: DecisionContext;
}

export interface EligibilityOptions {
  readonly routing: Routing;
  readonly people: People;
  readonly accountsExist: () => boolean;
}

export class Eligibility {
  readonly #options: EligibilityOptions;

  constructor(options: EligibilityOptions) {
    this.#options = options;
  }

  /** What a decision on this request is checked against now. */
  contextOf(approval: Audience, inProcess = false): DecisionContext {
    const { accountsExist, routing } = this.#options;
    return { inProcess, accountsExist: accountsExist(), present: routing.requirement(approval) };
  }

  /** Why this grant does not answer such a call now. Returns undefined if its approver could approve the call. */
  async grantProblem(grant: Grant, call: Audience): Promise<string | undefined> {
    const { routing, people } = this.#options;
    const { principal } = call;
    const routed = routing.requirement(call);
    if (!routed.remembers) return `the route \`${routed.rule}\` lets no yes be remembered now`;
    const approver = await approverNow(people, principal.tenant, grant);
    if (typeof approver === "string") return approver;
    const { typed, signedIn, roles, groups } = grant.approver;
    if (routed.typedConfirmation && !typed)
      return `the route \`${routed.rule}\` wants the tool's name typed now, and it was not`;
    const by = { user: grant.by, via: grant.via, signedIn, ...stillHeld({ roles, groups }, approver) };
    return checkEligible({ ...call, routed }, { by }, this.contextOf(call))?.message;
  }
}

/** What this decision is recorded with, or why it is refused. */
export function admit(
  approval: ApprovalRecord,
  request: DecisionRequest,
  context: DecisionContext,
): AdmittedDecision | EligibilityProblem {
  const { by, decision } = request;
  const refused = checkEligible(approval, { by, decision }, context);
  if (refused !== undefined) return refused;
  if (!isWellFormed(request))
    return {
      code: "decision_invalid",
      message:
        "A decision is `approved`, `denied`, `skipped` or `modified`. Send arguments with `modified`, and only with it.",
    };
  const requirement = requirementOf(approval, context);
  const isYes = isApproving(decision);
  const problem =
    changedProblem(approval, request, isYes) ??
    (isYes ? confirmationProblem(request, { approval, by, requirement, context }) : undefined);
  return problem ?? { requirement, approver: stateOf(request, approval, context) };
}

/** What this person may decide now, if they bring what is required. */
export function eligibilityOf(approval: ApprovalRecord, by: Decider, context: DecisionContext): Eligible {
  const refused = checkEligible(approval, { by }, context);
  const may = decisions.filter((decision) => checkEligible(approval, { by, decision }, context) === undefined);
  const requirement = approval.state === "pending" ? requirementOf(approval, context) : (approval.routed ?? unrouted);
  if (refused === undefined) return { may, requirement };
  const { why = "not_asked", message } = refused;
  return { may, requirement, whyNot: { why, message } };
}

/** Why this person may not decide so now. Returns undefined if they may. */
export function checkEligible(
  approval: Subject,
  { by, decision = "approved" }: { readonly by: Decider; readonly decision?: DecisionName },
  context: DecisionContext,
): EligibilityProblem | undefined {
  if (isElsewhere(approval.principal, by.tenant))
    return { code: "approval_unknown", message: noApproval(approval.id ?? "") };
  if (approval.state !== undefined && approval.state !== "pending") return overProblem(approval);
  const requirement = requirementOf(approval, context);
  const check = { approval, by, requirement, context };
  return (
    ownRequestProblem(approval, by, requirement.separateUser) ??
    notAskedProblem(check) ??
    (decision === "approved" ? votedProblem(approval, actorOf(by)) : undefined) ??
    (isApproving(decision) ? (operatorProblem(check) ?? signInProblem(check)) : undefined)
  );
}

export function isApproving(decision: DecisionName): boolean {
  return decision === "approved" || decision === "modified";
}

function requirementOf({ routed = unrouted }: Audience, { present }: Pick<DecisionContext, "present">): Routed {
  return stricter(routed, present);
}

/** Only approvals are counted: a denial ends the request, and an edit starts the count again. */
function votedProblem(approval: Subject, voter: Actor): EligibilityProblem | undefined {
  if (!hasVoted(approval, voter)) return undefined;
  return { code: "approval_voted", message: alreadyVoted(approval, voter), why: "voted" };
}

/** The asking credential never decides. The asking person does not if they called by hand or the route requires it. */
function ownRequestProblem(
  { principal }: Audience,
  by: Decider,
  separateUser: boolean,
): EligibilityProblem | undefined {
  const problem = (who: string, other: "person" | "credential"): EligibilityProblem => ({
    code: "decider_not_allowed",
    message: `\`${who}\` asked for this call and cannot decide it; another ${other} must.`,
    why: other === "person" ? "requester" : "credential",
  });
  if ((separateUser || isDirectCall(principal)) && isAsker({ principal }, by.user)) return problem(by.user, "person");
  const { via: credential } = actorOf(by);
  const asker = principal.via ?? (principal.user === undefined ? `agent:${principal.agent}` : `user:${principal.user}`);
  return credential === asker ? problem(credential, "credential") : undefined;
}

/**
 * If accounts exist, any person may hold the operator's token. So it counts neither as a second person nor as another
 * person than the one who asked.
 */
function operatorProblem({ approval, by, requirement, context }: EligibilityCheck): EligibilityProblem | undefined {
  if (!context.accountsExist || !isDataFolderUser(by)) return undefined;
  const { tool, principal } = approval;
  const { quorum, separateUser } = requirement;
  if (quorum === 1 && !separateUser && !isDirectCall(principal)) return undefined;
  const whom = quorum > 1 ? `${quorum} different persons` : "another person than who asked";
  return {
    code: "sign_in_needed",
    message: `\`${tool}\` is decided by ${whom}, and the operator's token stands for no person where people have accounts; sign in and decide there.`,
    why: "sign_in",
  };
}

/** The operator's token, the link of the data folder, and a token made with either. No account has this name. */
function isDataFolderUser({ user, via }: Pick<Decider, "user" | "via">): boolean {
  return via === operatorToken || (user === builtInName && via !== undefined && folderCredential.test(via));
}
const folderCredential = /^(session:operator$|token:tok_)/;

/** Whether this person called, directly or through their agent. */
export function isAsker({ principal }: Pick<Audience, "principal">, user: string): boolean {
  return isSamePerson(user, principal.user) || isSamePerson(user, principal.owner);
}

function notAskedProblem({ approval, by, context }: EligibilityCheck): EligibilityProblem | undefined {
  const closed = routeWithout(by, approval, context.present);
  if (closed === undefined) return undefined;
  const message = `\`${by.user}\` is none of those whom the route \`${closed.rule}\` sends this to; one of them must decide.`;
  return { code: "decider_not_allowed", message, why: "not_asked" };
}

/** Of the earlier and the present route, the one that does not name this person. */
function routeWithout(person: Decider, { routed = unrouted, escalatedAt }: Audience, present: Requirement) {
  const names = (to: Routed["to"]): boolean => isOpen(to) || isAmong(to, person);
  return [routed, present].find(
    ({ to, escalateTo }) => !names(to) && (escalatedAt === undefined || escalateTo === undefined || !names(escalateTo)),
  );
}

/** After an edit, an approval must send the digest that was shown. Any digest that is sent must be the present one. */
function changedProblem(
  approval: ApprovalRecord,
  request: DecisionRequest,
  isYes: boolean,
): EligibilityProblem | undefined {
  const { expectedDigest: expected } = request;
  const { id, edited } = approval;
  const isStale = expected !== undefined && expected !== shownDigest(approval);
  const isBlind = isYes && expected === undefined && edited !== undefined;
  if (!isStale && !isBlind) return undefined;
  const what =
    edited === undefined ? `What you saw is not what \`${id}\` asks` : `\`${id}\` was edited by \`${edited.by}\``;
  return {
    code: "approval_changed",
    message: `${what}; look at it again, and send its \`shown_digest\` as \`expected_digest\` (at the command line \`--digest\`).`,
  };
}

function confirmationProblem(
  { confirmation }: DecisionRequest,
  { approval, requirement, context }: EligibilityCheck,
): EligibilityProblem | undefined {
  if (isExempt(requirement, context) || !requirement.typedConfirmation || confirmation === approval.tool)
    return undefined;
  const typed = confirmation === undefined ? "nothing was typed" : `\`${confirmation.slice(0, 100)}\` was typed`;
  return {
    code: "confirmation_needed",
    message: `To approve this, type the tool's name, \`${approval.tool}\`, as \`confirmation\` (at the command line \`--confirm ${approval.tool}\`); ${typed}.`,
  };
}

function signInProblem({
  approval: { tool, risk },
  by,
  requirement,
  context,
}: EligibilityCheck): EligibilityProblem | undefined {
  if (isExempt(requirement, context) || !requirement.signedIn || isSignedIn(by, context)) return undefined;
  const instead = context.inProcess ? "an approver in code" : "a token";
  return {
    code: "sign_in_needed",
    message: `\`${tool}\` at risk ${risk} is approved by a person who signed in, not by ${instead}; sign in and decide there.`,
    why: "sign_in",
  };
}

/** The approver in code is held to what a route requires, not to the defaults of a risk. */
function isExempt({ rule }: Routed, { inProcess, present }: DecisionContext): boolean {
  return inProcess && rule === "default" && present.rule === "default";
}

/** Without accounts, only the operator's own token counts as signed in. With accounts it does not. */
function isSignedIn(by: Decider, { inProcess, accountsExist }: DecisionContext): boolean {
  if (inProcess || (accountsExist && isDataFolderUser(by))) return false;
  const { via, signedIn } = by;
  return via === operatorToken || (signedIn ?? (via === undefined || !via.startsWith("token:")));
}

function stateOf({ by, confirmation }: DecisionRequest, { tool }: Audience, context: DecisionContext): DeciderState {
  return {
    ...(by.roles !== undefined && { roles: by.roles }),
    ...(by.groups !== undefined && { groups: by.groups }),
    signedIn: isSignedIn(by, context),
    typed: confirmation === tool,
  };
}

/** The answer to a decision on a request that is over. */
export function overProblem({ id, state, decision }: Pick<Subject, "id" | "state" | "decision">): EligibilityProblem {
  if (state === "expired")
    return {
      code: "approval_expired",
      message: `The approval \`${id}\` has expired; the call must be sent again.`,
      why: "over",
    };
  const by = decision === undefined ? "" : ` by ${decision.by}`;
  const how = state === "used" ? `approved${by}, and used` : `${state}${by}`;
  return { code: "approval_decided", message: `The approval \`${id}\` is ${how} already.`, why: "over" };
}
