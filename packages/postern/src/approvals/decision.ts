import { isDeepStrictEqual } from "node:util";
import {
  type Actor,
  type ApprovalRecord,
  checkActorFields,
  checkMembers,
  type JsonObject,
  largestBatch,
  type Refusal,
  type Routed,
  RuntimeFault,
  reasonWords,
  shown,
} from "@postern/core";
import { isElsewhere } from "../call/authority.ts";
import type { Grant, Remember } from "./grant.ts";
import { type Routing, stricter, unrouted } from "./routes.ts";

/** The name of a role in the operator's accounts. Routes compare it as text. */
export type DeciderRole = string;

/** Who decides, as authenticated where the request arrived. Never read from a body. */
export interface Decider {
  readonly user: string;
  /** The credential's name. A credential never decides a call that it asked for. */
  readonly via?: string;
  readonly tenant?: string;
  readonly roles?: readonly DeciderRole[];
  readonly groups?: readonly string[];
  /** Whether a person signed in. If missing, a `via` that is a token counts as not signed in, all else as signed in. */
  readonly signedIn?: boolean;
}

/** The credential of the operator's token. It stands for no particular person. */
export const operatorToken = "token:operator";

/** @throws RuntimeFault `decision_invalid` for a decider that cannot be named in the log */
export function checkDecider(by: Decider): void {
  checkActorFields(by, "decision_invalid", { needed: ["user"], other: ["via", "tenant"] });
  for (const name of ["roles", "groups"] as const) {
    const value: unknown = by[name];
    if (value !== undefined && !(Array.isArray(value) && value.every((one) => typeof one === "string")))
      throw new RuntimeFault(
        "decision_invalid",
        `\`${name}\` of the actor is ${shown(value)}; it must be a list of texts.`,
      );
  }
}

/** @throws RuntimeFault `decision_invalid` for an invalid decider or reason */
export function checkRequest(request: Pick<DecisionRequest, "by" | "reason">): void {
  checkMembers(request, { code: "decision_invalid", what: "The decision", members: texts });
  checkDecider(request.by);
}
const texts = {
  reason: "a text",
  confirmation: "a text",
  expectedDigest: "a text",
  expectedDigests: "an object",
} as const;

/**
 * A decider as the log names them.
 *
 * @throws RuntimeFault `decision_invalid`
 */
export function actorOf(by: Decider): Actor {
  checkDecider(by);
  const { user, via = `user:${user}`, tenant } = by;
  return { by: user, via, ...(tenant !== undefined && { tenant }) };
}

export interface DecisionRequest {
  readonly decision: "approved" | "denied" | "skipped" | "modified";
  /** Only with `modified`, and required there. */
  readonly arguments?: JsonObject;
  readonly by: Decider;
  readonly reason?: string;
  /** The tool's name as the decider typed it, where the route asks for that. */
  readonly confirmation?: string;
  /** The `shownDigest` of what was shown. If it has changed since, nothing is decided. */
  readonly expectedDigest?: string;
  /** With an approval: similar calls need no person for a while. */
  readonly remember?: Remember;
}

export const decisions: readonly DecisionRequest["decision"][] = ["approved", "denied", "skipped", "modified"];

/** Whether it is one of the four decisions, with arguments exactly if it is `modified`. */
export function isWellFormed(
  sent: { readonly decision?: unknown; readonly arguments?: unknown } | null | undefined,
): boolean {
  const { decision, arguments: edited } = sent ?? {};
  return decisions.some((one) => one === decision) && (decision === "modified") === (edited !== undefined);
}

/**
 * Why a person may not approve a request, as a code.
 *
 * @public
 */
export type WhyNot = "over" | "requester" | "credential" | "not_asked" | "sign_in" | "voted";

/**
 * What one person may decide of one request now.
 *
 * @public
 */
export interface Eligible {
  /** In the order of `decisions`. */
  readonly may: readonly DecisionRequest["decision"][];
  /** Why they may not approve. */
  readonly whyNot?: { readonly why: WhyNot; readonly message: string };
  /** What a decision must bring: the stricter of the requirements at the time of the request and now. */
  readonly requirement: Routed;
}

/** Problems of a decision, each with its HTTP number. */
export const decisionProblems = {
  approval_unknown: 404,
  approval_decided: 409,
  approval_changed: 409,
  approval_voted: 409,
  comments_full: 409,
  tool_changed: 409,
  approval_expired: 410,
  decider_not_allowed: 403,
  sign_in_needed: 403,
  confirmation_needed: 422,
  decision_invalid: 422,
  edit_refused: 422,
  remember_refused: 422,
  batch_refused: 422,
} as const;

export type DecisionProblem = keyof typeof decisionProblems;

/** The same message as for a request of another tenant. */
export function noApproval(id: string): string {
  return `There is no approval \`${id.slice(0, 200)}\`; \`postern approvals\` lists what waits.`;
}

export type DecisionAnswer =
  | {
      readonly decided: true;
      /** Still `pending` if more persons must approve. */
      readonly approval: ApprovalRecord;
      readonly grant?: Grant;
    }
  | {
      readonly decided: false;
      readonly code: DecisionProblem;
      readonly message: string;
      readonly approval?: ApprovalRecord;
      readonly refusal?: Refusal;
    };

/** One decision on many similar requests of one run. Each is recorded separately. */
export interface BatchRequest extends Pick<DecisionRequest, "by" | "reason"> {
  readonly decision: "approved" | "denied" | "skipped";
  /** Digests of what was shown, by approval. */
  readonly expectedDigests?: Readonly<Record<string, string>>;
}

export type BatchDecisionAnswer =
  | { readonly taken: true; readonly answers: readonly { readonly id: string; readonly decided: DecisionAnswer }[] }
  | { readonly taken: false; readonly code: "approval_unknown" | "batch_refused"; readonly message: string };

interface FoundApproval {
  readonly id: string;
  readonly approval: ApprovalRecord | undefined;
}

/**
 * Why these requests cannot be decided together; then none of them is. A critical request, or one that needs a typed
 * name, must be approved alone. It may be denied together with others.
 */
export function batchProblem(
  found: readonly FoundApproval[],
  { by: { tenant }, decision }: Pick<BatchRequest, "by" | "decision">,
  routing: Pick<Routing, "requirement">,
): Extract<BatchDecisionAnswer, { taken: false }> | undefined {
  const [first] = found;
  if (first === undefined || found.length > largestBatch)
    return {
      taken: false,
      code: "batch_refused",
      message: `A batch is 1 to ${largestBatch} approvals; these are ${found.length}.`,
    };
  const missing = found.find(({ approval }) => approval === undefined || isElsewhere(approval.principal, tenant));
  if (missing !== undefined) return { taken: false, code: "approval_unknown", message: noApproval(missing.id) };
  const other = found.find(({ approval }) => !isAlike(approval, first.approval));
  if (other === undefined) return decision === "approved" ? singlesProblem(found, routing) : undefined;
  const [one, another] = differences(first.approval, other.approval);
  return {
    taken: false,
    code: "batch_refused",
    message: `Only requests with the same run, tool, risk and reasons can be decided together. \`${first.id}\` has ${one}; \`${other.id}\` has ${another}. Decide each of them alone.`,
  };
}

function singlesProblem(
  found: readonly FoundApproval[],
  routing: Pick<Routing, "requirement">,
): Extract<BatchDecisionAnswer, { taken: false }> | undefined {
  const singles = found.filter(({ approval }) => approval !== undefined && mustBeDecidedAlone(approval, routing));
  const [first] = singles;
  if (first?.approval === undefined) return undefined;
  const more = singles.length === 1 ? "" : ` and ${singles.length - 1} more of these`;
  return {
    taken: false,
    code: "batch_refused",
    message: `\`${first.id}\`${more} would run \`${first.approval.tool}\` at risk ${first.approval.risk}, which is approved one by one, each with the tool's name typed; none of the batch was decided.`,
  };
}

function mustBeDecidedAlone(approval: ApprovalRecord, routing: Pick<Routing, "requirement">): boolean {
  const requirement = stricter(approval.routed ?? unrouted, routing.requirement(approval));
  return approval.risk === "critical" || requirement.typedConfirmation;
}

function isAlike(one: ApprovalRecord | undefined, other: ApprovalRecord | undefined): boolean {
  return (
    one?.runId === other?.runId &&
    one?.tool === other?.tool &&
    one?.action === other?.action &&
    one?.risk === other?.risk &&
    isDeepStrictEqual(one?.why, other?.why) &&
    one?.principal.tenant === other?.principal.tenant
  );
}

/** What a person reads of the members in which they differ. */
function differences(one: ApprovalRecord | undefined, other: ApprovalRecord | undefined): readonly [string, string] {
  const [left, right] = [membersOf(one), membersOf(other)];
  const differing = left.map((text, i) => [text, right[i] ?? ""] as const).filter(([mine, others]) => mine !== others);
  return [differing.map(([text]) => text).join(", "), differing.map(([, text]) => text).join(", ")];
}

function membersOf(approval: ApprovalRecord | undefined): readonly string[] {
  const { runId, tool, action, risk, why = [] } = approval ?? {};
  const reasons = why.map(
    (reason) => `${reasonWords(reason)}${reason.where === undefined ? "" : ` (${reason.where})`}`,
  );
  return [
    `the run \`${runId}\``,
    `the tool \`${tool}\``,
    `the action \`${action}\``,
    `the risk ${risk}`,
    `the reasons: ${reasons.join(" and ")}`,
  ];
}
