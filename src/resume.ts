/** The other verbs, by way of the same gates: resume, decide (an edit is gated), explain. */
import { type Admitted, admit, late } from "./approvals/admission.ts";
import { bind, shownDigest } from "./approvals/binding.ts";
import type { Ruled } from "./approvals/book.ts";
import { actorOf, type Decided, type DecisionRequest, noApproval } from "./approvals/decision.ts";
import { type Grant, rememberProblem } from "./approvals/grant.ts";
import { grantReason, silentReason } from "./approvals/grants.ts";
import type { Edit, Ruling } from "./approvals/ruling.ts";
import { standingVotes, votedAlready } from "./approvals/voting.ts";
import type { AuditLog } from "./audit/log.ts";
import { Arrival, read } from "./calls/arrival.ts";
import { isForeign } from "./calls/authority.ts";
import type { ToolCall } from "./calls/call.ts";
import { type Ending, isEnding } from "./calls/ending.ts";
import { words } from "./calls/event.ts";
import { canonical, sha256 } from "./calls/json.ts";
import type { ToolOutcome } from "./calls/outcome.ts";
import type { ApprovalRecord, CallRecord } from "./calls/records.ts";
import { type Refusal, refusal } from "./calls/refusals.ts";
import type { Caller } from "./calls/session.ts";
import { grantFor, type Previewed } from "./gates/approval.ts";
import { ask } from "./gates/budget.ts";
import { mayAsk } from "./gates/run.ts";
import type { WeighedCall } from "./gates/stages.ts";
import { assess, invoke } from "./invoke.ts";
import type { Parts } from "./parts.ts";
import type { Decision, ToolFacts } from "./policy/policy.ts";

/** What would be decided, and every rule that shaped it; or why it does not get that far. */
export type Explanation = (
  | { readonly reached: "verdict"; readonly decision: Decision; readonly facts: ToolFacts; readonly summary?: string }
  | { readonly reached: "refused"; readonly refusal: Refusal; readonly decision?: Decision }
) & {
  /** Of a recorded call alone. */
  readonly recorded?: Recorded;
};

/**
 * What is kept of a call that was explained by its id.
 *
 * @public
 */
export interface Recorded {
  /** A person changed its arguments: what runs is explained. SHA-256 over the canonical arguments, as they were sent and as they run. */
  readonly edited?: { readonly asked: string; readonly runs: string };
  /** How it was weighed when it began, or when a person was asked for it if it never did. */
  readonly weighed?: {
    /** Wall clock, milliseconds. */
    readonly at: number;
    readonly verdict: string;
    readonly risk: string;
    readonly reasons: readonly { readonly rule: string; readonly says: string; readonly where?: string }[];
    readonly policyVersion: string;
    /** The grant that answered for a person. */
    readonly grant?: string;
  };
}

export type Arrive = () => Pick<ToolCall, "id" | "number" | "arrivedAt">;

/** Runs the approved call once; every further resume replays its outcome. Undefined: there is none, or it is not the asker's. */
export async function resume(
  approvalId: string,
  arrival: ReturnType<Arrive>,
  caller: Caller,
  parts: Parts,
): Promise<ToolOutcome | undefined> {
  const approval = await parts.book.get(approvalId);
  if (approval === undefined || isForeign(approval.principal, caller.asker)) return undefined;
  return invoke(await goesOn(approval, arrival, parts), caller, parts);
}

/**
 * A script that waits for the approved call goes on, and makes it in its place; it is the script that answers. What a tool
 * asked for, that a script had called, waits for nobody: the tool has answered, and the call is run by itself.
 */
async function goesOn(approval: ApprovalRecord, arrival: ReturnType<Arrive>, parts: Parts): Promise<ToolCall> {
  const call = await parts.book.recorded(approval, arrival);
  if (call.parentId === undefined || call.authority.fromChain !== true) return call;
  const parent = await parts.ledger.find({ key: call.parentId });
  const goesOnItself = parent !== undefined && parts.tools.find(parent.call.tool, parent.call.action)?.suspends;
  return goesOnItself === true ? new Arrival({ ...parent.call, ...arrival, resumes: parent.key }) : call;
}

/** One person's word on one request. */
export interface Word {
  readonly id: string;
  readonly request: DecisionRequest;
  /** By the approver of this process, which was configured in code. */
  readonly inProcess: boolean;
}

/** Who may decide what, and an edit through the gates before it is kept (D18, D19). Runs nothing. */
export async function decide(
  { id, request, inProcess }: Word,
  arrival: ReturnType<Arrive>,
  parts: Parts,
): Promise<Decided> {
  const { book, givers } = parts;
  const found = await book.get(id);
  if (found === undefined) return { decided: false, code: "approval_unknown", message: noApproval(id) };
  const lapsed = (await givers.lapsed(found)).map(({ vote }) => vote);
  const approval = standingVotes(found, lapsed);
  const lent = await givers.lent(request.by);
  const first = admit(approval, request, givers.bench(approval, lent, inProcess));
  if ("code" in first) return refused(first, approval);
  const edited = request.decision === "modified" ? await weighEdit(approval, request, arrival, parts) : undefined;
  if (edited !== undefined && isEnding(edited)) return editRefused(edited, approval);
  // An edit may make it riskier: then it is decided as what it became is, and not as what it was.
  const asked = edited === undefined ? approval : { ...approval, risk: edited.risk, arguments: edited.arguments };
  const meant = { ...request, expectedDigest: shownDigest(asked) }; // what they saw was held against the record above
  const admitted = edited === undefined ? first : admit(asked, meant, givers.bench(asked, lent, inProcess));
  if ("code" in admitted) return refused(admitted, approval);
  const remember = rememberRefusal(asked, request, admitted, parts);
  if (remember !== undefined) return { decided: false, code: "remember_refused", message: remember, approval };
  const edit = edited && (await editOf(edited, approval, admitted, parts));
  const ruled = await book.rule(approval, { ...rulingOf(request, admitted, edit, parts), lapsed });
  if (!ruled.won) return lost(ruled, request);
  if (request.remember === undefined || ruled.approval.state !== "approved")
    return { decided: true, approval: ruled.approval };
  const words = { ...request.remember, reason: parts.redactor.redact(request.remember.reason) };
  return { decided: true, approval: ruled.approval, grant: await parts.grants.make(words, ruled.approval) };
}

function rulingOf(request: DecisionRequest, admitted: Admitted, edited: Ruling["edited"], parts: Parts): Ruling {
  const { decision, reason } = request;
  const { demand, onBehalfOf, delegation, given } = admitted;
  const { by, via } = actorOf(request.by);
  return {
    as: decision,
    ...{ by, via, onBehalfOf, delegation, given },
    reason: reason === undefined ? undefined : parts.redactor.redact(reason),
    quorum: demand.quorum,
    deny: demand.deny,
    edited,
  };
}

/** Why this yes is not to be remembered; undefined when it is, or nobody asked for that. */
function rememberRefusal(
  asked: ApprovalRecord,
  { decision, remember }: DecisionRequest,
  { demand }: Admitted,
  parts: Parts,
): string | undefined {
  if (remember === undefined) return undefined;
  if (decision !== "approved" && decision !== "modified") return "Only a yes is remembered.";
  if (!demand.remembers)
    return `The route \`${demand.rule}\` lets no yes be remembered for \`${asked.tool}\` at risk ${asked.risk}.`;
  return rememberProblem(remember, asked, parts.clock.now());
}

type DecisionProblem = Pick<Extract<Decided, { decided: false }>, "code" | "message">;

function refused(problem: DecisionProblem, approval: ApprovalRecord): Decided {
  return problem.code === "approval_unknown" // to another tenant it is not there
    ? { decided: false, ...problem }
    : { decided: false, ...problem, approval };
}

function lost({ approval, because }: Extract<Ruled, { won: false }>, { by }: DecisionRequest): Decided {
  if (because === "voted")
    return { decided: false, code: "approval_voted", message: votedAlready(approval, actorOf(by)), approval };
  if (because === "changed") {
    const message = `\`${approval.id}\` was edited meanwhile; look at it again.`;
    return { decided: false, code: "approval_changed", message, approval };
  }
  return { decided: false, ...late(approval), approval };
}

/** What the approver wrote instead, weighed as the recorded call would be. */
async function weighEdit(
  approval: ApprovalRecord,
  request: DecisionRequest,
  arrival: ReturnType<Arrive>,
  parts: Parts,
): Promise<WeighedCall | Ending> {
  const recorded = await parts.book.recorded(approval, arrival);
  return assess(ask(new Arrival({ ...recorded, ...read(request.arguments) })), parts);
}

function editRefused(end: Ending, approval: ApprovalRecord): Decided {
  const why = end.ending === "refused" ? end.refusal : refusal("internal");
  return { decided: false, code: "edit_refused", message: why.message, refusal: why, approval };
}

/** Its risk, reasons and words replace the asked ones. Whoever must still agree is shown what would run now. */
async function editOf(
  weighed: WeighedCall,
  { key, expiresAt }: ApprovalRecord,
  { demand }: Admitted,
  parts: Parts,
): Promise<Edit> {
  const call: Previewed = Object.assign(weighed, { key });
  const { suggestion, risk, weighing } = call;
  const preview = demand.quorum > 1 ? await parts.preview(call, {}) : undefined;
  return {
    arguments: call.arguments,
    binding: bind(call, expiresAt),
    risk,
    why: weighing.reasons,
    ...(suggestion?.summary !== undefined && { summary: suggestion.summary }),
    ...(preview !== undefined && { preview }),
  };
}

/**
 * What would be decided, and every rule that shaped it. Counts nothing, writes nothing, runs nothing.
 *
 * @param sessionId whose grants count; none: those for a session are only named
 */
export async function explain(call: ToolCall, parts: Parts, sessionId?: string): Promise<Explanation> {
  const asked = ask(call);
  const weighed = (await mayAsk(asked, parts)) ?? (await assess(asked, parts));
  if (!isEnding(weighed)) {
    const { weighing, found, suggestion, verdict } = weighed;
    const { grant, silent } =
      verdict === "CONFIRM"
        ? await grantFor(weighed, sessionId === undefined ? undefined : { id: sessionId }, parts)
        : { silent: [] };
    const said = grant === undefined ? silent.map(silentReason) : [grantReason(grant)];
    return {
      reached: "verdict",
      decision: {
        ...weighing,
        reasons: [...weighing.reasons, ...said],
        ...(grant !== undefined && { grant: grant.id }),
      },
      facts: found.facts,
      ...(suggestion?.summary !== undefined && { summary: suggestion.summary }),
    };
  }
  const decision = call instanceof Arrival ? (call.weighing as Decision | undefined) : undefined; // the verdict gate left it there before it refused
  const refused = weighed.ending === "refused" ? weighed.refusal : refusal("internal");
  return { reached: "refused", refusal: refused, ...(decision !== undefined && { decision }) };
}

/** What would be decided today about a recorded call, as it runs: after an edit, with what the person wrote. */
export async function explainRecorded(
  record: CallRecord,
  parts: Parts,
  audit: Pick<AuditLog, "query">,
): Promise<Explanation> {
  const { key, call, approvalId } = record;
  const approval = approvalId === undefined ? undefined : await parts.book.get(approvalId);
  // As itself: a call is not its own past.
  const itself =
    approval === undefined ? new Arrival({ ...call, resumes: key }) : await parts.book.recorded(approval, call);
  const { startedAt } = record;
  const weighed = startedAt === undefined ? approval && weighedFor(approval) : await begun(record, startedAt, audit);
  const grant = weighed && grantIn(weighed.reasons, call, parts);
  const explained = await explain(itself, parts, grant?.sessionId ?? approval?.sessionId);
  const edited = approval && editIn(approval);
  return {
    ...explained,
    recorded: {
      ...(edited !== undefined && { edited }),
      ...(weighed !== undefined && { weighed: { ...weighed, ...(grant !== undefined && { grant: grant.id }) } }),
    },
  };
}

type Weighed = NonNullable<Recorded["weighed"]>;

function weighedFor({ requestedAt: at, risk, why: reasons, policyVersion }: ApprovalRecord): Weighed {
  return { at, verdict: "CONFIRM", risk, reasons, policyVersion };
}

/** As the log has it. Nothing: it keeps none, or cannot be read; what would be decided is told all the same. */
async function begun(
  { key, call }: CallRecord,
  at: number,
  audit: Pick<AuditLog, "query">,
): Promise<Weighed | undefined> {
  const where = { since: at, until: at, callId: [key, call.id], tenant: call.authority.principal.tenant };
  const [event] = await audit.query({ ...where, type: words.attempted.audit }).catch(() => []);
  if (event === undefined) return undefined;
  const { verdict = "", risk_level: risk = "", reasons = [], policy_version: policyVersion = "" } = event;
  return { at, verdict, risk, reasons, policyVersion };
}

/** The one that answered stands among the reasons, in its own words. */
function grantIn(reasons: Weighed["reasons"], { tool, authority }: ToolCall, { grants }: Parts): Grant | undefined {
  const rules = new Set(reasons.filter(({ says }) => says === "ALLOW").map(({ rule }) => rule));
  const { tenant } = authority.principal;
  return grants.list({ tenant, tool }).find((grant) => rules.has(grantReason(grant).rule));
}

function editIn({ asked, arguments: given }: ApprovalRecord): Recorded["edited"] {
  const [before, runs] = [sha256(canonical(asked)), sha256(canonical(given))];
  return before === runs ? undefined : { asked: before, runs };
}
