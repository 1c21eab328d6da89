import {
  type AddedDocument,
  type ApprovalRecord,
  checkMembers,
  type DeciderState,
  type DecisionAuthor,
  isJsonObject,
  type Json,
  type JsonObject,
  type Kind,
  newId,
  type Principal,
  type Reason,
  type Risk,
  RuntimeFault,
  shown,
} from "@postern/core";
import { type ConditionCheck, type Conditions, compileConditions, permits } from "../policy/rules/condition.ts";
import { checkedConditions } from "../policy/schema.ts";
import { shownArguments } from "./binding.ts";

/**
 * What to remember of an approval, so that similar calls need no person.
 *
 * @public
 */
export interface Remember {
  readonly scope?: {
    /** If given, it must be the approved call's own. */
    readonly tool?: string;
    readonly action?: string;
    /** By path into the arguments, as in a policy rule. Without it, any arguments. */
    readonly arguments?: Conditions;
  };
  /** In the same run, in the same session while it lives (both a day at most), or until a time (wall clock, milliseconds). */
  readonly for: "run" | "session" | { readonly until: number };
  readonly reason: string;
}

/**
 * A remembered approval. Inside the approval gate it answers for a person, but only calls that the person was asked
 * about: the same tool and definition, the same principal, no higher risk, no other rule.
 *
 * @public
 */
export interface Grant extends DecisionAuthor {
  /** The state of its approver at that time. */
  readonly approver: DeciderState;
  readonly id: string;
  readonly tool: string;
  readonly action: string;
  readonly server?: string;
  readonly principal: Pick<Principal, "tenant" | "agent" | "user">;
  readonly arguments?: Conditions;
  readonly for: "run" | "session" | "time";
  readonly runId?: string;
  readonly sessionId?: string;
  /** Wall clock, milliseconds; exclusive. */
  readonly until: number;
  readonly reason: string;
  readonly at: number;
  readonly approvalId: string;
  /** Digest of the tool's definition: another one voids the grant. */
  readonly definition: string;
  /** Up to this risk. */
  readonly risk: Risk;
  /** The rules that asked at that time. A person is asked again when another rule asks. */
  readonly asks: readonly string[];
  readonly uses: number;
  readonly lastUsedAt?: number;
  readonly revoked?: { readonly by: string; readonly via: string; readonly at: number; readonly reason?: string };
}

/** The approver of a grant and their state. */
export type GrantAuthor = DecisionAuthor & Pick<Grant, "approver">;

/** `void`: the definition of its tool has changed. */
export type GrantState = "live" | "over" | "revoked" | "void";

export interface GrantFilter {
  readonly tenant?: string;
  readonly state?: GrantState;
  readonly tool?: string;
}

/** A grant, and how it is written together with its approval. */
export interface NewGrant {
  readonly grant: Grant;
  readonly addedDocument: AddedDocument;
  /** Call it when the write has won. */
  readonly take: () => void;
}

const dayMs = 86_400_000;
const longestGrantMs = 90 * dayMs;
/** Grants are kept in memory, so their conditions are limited. */
const longestConditions = 100_000;
const names: ReadonlySet<string> = new Set(["scope", "for", "reason"]);
const scopeNames: ReadonlySet<string> = new Set(["tool", "action", "arguments"]);

/** When the grant ends, or a sentence why it cannot be made. */
export function untilOf(remember: Remember, approval: ApprovalRecord, now: number): number | string {
  if (remember.for === "run") return now + dayMs;
  if (remember.for === "session")
    return approval.sessionId === undefined
      ? "The call belongs to no session; remember it for the run, or until a time."
      : now + dayMs;
  const { until } = remember.for;
  if (!Number.isSafeInteger(until) || until <= now)
    return `\`for.until\` is \`${String(until)}\`; it must be a time that is still to come.`;
  return until > now + longestGrantMs ? "`for.until` is more than 90 days away; choose an earlier time." : until;
}

/** Why it cannot be remembered. Returns undefined if it can. @param approval with the arguments that would run */
export function rememberProblem(remember: Remember, approval: ApprovalRecord, now: number): string | undefined {
  if (!isRemember(remember))
    return "`remember` is { scope?: { tool?, action?, arguments? }, for: run, session or { until }, reason }.";
  if (remember.reason.trim() === "" || remember.reason.length > 2000)
    return "`remember.reason` must say in 1 to 2000 characters why such calls need no person.";
  const { tool = approval.tool, action = approval.action, arguments: conditions = {} } = remember.scope ?? {};
  if (tool !== approval.tool || action !== approval.action)
    return `The scope names \`${tool}\` (${action}), and what was shown is \`${approval.tool}\` (${approval.action}); only that can be remembered.`;
  const until = untilOf(remember, approval, now);
  if (typeof until === "string") return until;
  try {
    const holds = compileConditions(
      checkedConditions(conditions, "remember.scope.arguments"),
      "`remember.scope.arguments`",
    );
    const { length } = JSON.stringify(conditions);
    if (length > longestConditions)
      return `\`remember.scope.arguments\` are ${length} characters of JSON, and ${longestConditions} are the most; hold fewer arguments, or approve this call alone.`;
    if (fits(holds, shownArguments(approval))) return undefined;
    return "`remember.scope.arguments` does not fit the call that is approved here; write a pattern that does.";
  } catch (error) {
    if (error instanceof RuntimeFault) return error.message;
    throw error;
  }
}

export function fits(holds: readonly ConditionCheck[], given: JsonObject): boolean {
  return holds.every((one) => (one(given) & permits) !== 0);
}

function isRemember(given: unknown): given is Remember {
  if (!isJsonObject(given) || typeof given["reason"] !== "string") return false;
  const { scope, for: span } = given;
  const isScope =
    scope === undefined ||
    (isJsonObject(scope) &&
      Object.entries(scope).every(([name, value]) => scopeNames.has(name) && isScopeValue(name, value)));
  const isSpan = span === "run" || span === "session" || (isJsonObject(span) && typeof span["until"] === "number");
  return isScope && isSpan && Object.keys(given).every((name) => names.has(name));
}

function isScopeValue(name: string, value: unknown): boolean {
  return value === undefined || (name === "arguments" ? isJsonObject(value) : typeof value === "string");
}

/** The rules that ask for an approval. */
export function asking(reasons: readonly Reason[]): readonly string[] {
  return reasons.filter(({ effect }) => effect === "CONFIRM").map(({ rule }) => rule);
}

export function grantOf(
  remember: Remember,
  approval: ApprovalRecord,
  { by, now, until }: { readonly by: GrantAuthor; readonly now: number; readonly until: number },
): Grant {
  const { tenant, agent, user } = approval.principal;
  const { for: span, reason, scope } = remember;
  return {
    id: newId("grt"),
    tool: approval.tool,
    action: approval.action,
    ...(approval.server !== undefined && { server: approval.server }),
    principal: { tenant, agent, ...(user !== undefined && { user }) },
    ...(scope?.arguments !== undefined && { arguments: scope.arguments }),
    for: typeof span === "string" ? span : "time",
    ...(span === "run" && { runId: approval.runId }),
    ...(span === "session" && approval.sessionId !== undefined && { sessionId: approval.sessionId }),
    until,
    reason,
    ...by,
    at: now,
    approvalId: approval.id,
    definition: approval.definition,
    risk: approval.risk,
    asks: asking(approval.why),
    uses: 0,
  };
}

export function spanText({ for: span, until }: Grant): string {
  return span === "time" ? `until ${new Date(until).toISOString()}` : `for the ${span}`;
}

/** @throws RuntimeFault `internal` for a document that Postern did not write: a grant is never guessed */
export function grantFrom(body: Json): Grant {
  if (isGrant(body)) return body;
  throw new RuntimeFault("internal", "A grant in the store is not what Postern writes.");
}

/** @throws RuntimeFault `request_invalid` */
export function checkGrant(given: Grant): void {
  if (!isGrant(given))
    throw new RuntimeFault("request_invalid", `The grant is ${shown(given)}; it must be one of those that are listed.`);
}

/** @throws RuntimeFault `request_invalid` */
export function checkGrantFilter(where: GrantFilter): void {
  checkMembers(where, { code: "request_invalid", what: "The filter", members: filterMembers, of: "grants" });
}

const filterMembers: Readonly<Record<keyof GrantFilter, Kind>> = {
  tenant: "a text",
  state: ["live", "over", "revoked", "void"] satisfies readonly GrantState[],
  tool: "a text",
};

/** Only Postern writes grants, so its distinguishing fields are enough. */
function isGrant(body: unknown): body is Grant {
  return (
    isJsonObject(body) &&
    ["id", "tool", "definition"].every((name) => typeof body[name] === "string") &&
    typeof body["until"] === "number" &&
    isJsonObject(body["principal"]) &&
    isJsonObject(body["approver"]) &&
    Array.isArray(body["asks"])
  );
}
