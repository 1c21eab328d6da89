/** The other verbs, by way of the same gates: resume, decide (an edit is gated), explain. */
import { type Admitted, admit, type Bench, late } from "./approvals/admission.ts";
import { bind } from "./approvals/binding.ts";
import type { Ruled } from "./approvals/book.ts";
import type { Decided, DecisionRequest } from "./approvals/decision.ts";
import { rememberProblem } from "./approvals/grant.ts";
import { grantReason, silentReason } from "./approvals/grants.ts";
import type { Ruling } from "./approvals/ruling.ts";
import { votedAlready } from "./approvals/voting.ts";
import { Arrival, read } from "./calls/arrival.ts";
import type { ToolCall } from "./calls/call.ts";
import { isEnding } from "./calls/ending.ts";
import type { ToolOutcome } from "./calls/outcome.ts";
import type { ApprovalRecord } from "./calls/records.ts";
import { type Refusal, refusal } from "./calls/refusals.ts";
import type { Caller } from "./calls/session.ts";
import { grantFor } from "./gates/approval.ts";
import { ask } from "./gates/budget.ts";
import { mayAsk } from "./gates/run.ts";
import { assess, invoke } from "./invoke.ts";
import type { Parts } from "./parts.ts";
import type { Decision, ToolFacts } from "./policy/policy.ts";
import type { Audience } from "./stores/audience.ts";

/** What would be decided, and every rule that shaped it; or why it does not get that far. */
export type Explanation =
  | { readonly reached: "verdict"; readonly decision: Decision; readonly facts: ToolFacts; readonly summary?: string }
  | { readonly reached: "refused"; readonly refusal: Refusal; readonly decision?: Decision };

export type Arrive = () => Pick<ToolCall, "id" | "number" | "arrivedAt">;

/** Runs the approved call once; every further resume replays its outcome. Undefined: there is no such approval. */
export async function resume(
  approvalId: string,
  arrival: ReturnType<Arrive>,
  caller: Caller,
  parts: Parts,
): Promise<ToolOutcome | undefined> {
  const approval = await parts.book.get(approvalId);
  return approval && invoke(await goesOn(approval, arrival, parts), caller, parts);
}

/** A script that waits for the approved call goes on, and makes it in its place; it is the script that answers. */
async function goesOn(approval: ApprovalRecord, arrival: ReturnType<Arrive>, parts: Parts): Promise<ToolCall> {
  const call = await parts.book.recorded(approval, arrival);
  if (call.parentId === undefined || call.authority.fromChain !== true) return call;
  const parent = await parts.ledger.find({ key: call.parentId });
  return parent === undefined ? call : new Arrival({ ...parent.call, ...arrival, resumes: parent.key });
}

/** What a decision is held against: the routes as they are now, delegations, accounts. `inProcess`: by the approver in code. */
export function benchOf(
  approval: Audience,
  inProcess: boolean,
  { book, delegations, givers: { accountsExist } }: Pick<Parts, "book" | "delegations" | "givers">,
): Bench {
  const present = book.routing.demand(approval);
  return { inProcess, accountsExist, present, delegators: (by) => delegations.to(by) };
}

/** Who may decide what, and an edit through the gates before it is kept (D18, D19). Runs nothing. */
export async function decide(
  id: string,
  request: DecisionRequest,
  arrival: ReturnType<Arrive>,
  inProcess: boolean,
  parts: Parts,
): Promise<Decided> {
  const approval = await parts.book.get(id);
  if (approval === undefined)
    return { decided: false, code: "approval_unknown", message: `There is no approval \`${id}\`.` };
  const first = await admitNow(approval, request, inProcess, parts);
  if ("code" in first) return refused(first, approval);
  const edit = request.decision === "modified" ? await weighEdit(approval, request, arrival, parts) : undefined;
  if (edit !== undefined && "refusal" in edit)
    return { decided: false, code: "edit_refused", message: edit.refusal.message, refusal: edit.refusal, approval };
  // An edit may make it riskier: then it is decided as what it became is, and not as what it was.
  const isOther = edit !== undefined && edit.risk !== approval.risk;
  const admitted = isOther ? await admitNow({ ...approval, risk: edit.risk }, request, inProcess, parts) : first;
  if ("code" in admitted) return refused(admitted, approval);
  const remember = rememberRefusal(approval, request, edit?.arguments ?? approval.arguments, admitted, parts);
  if (remember !== undefined) return { decided: false, code: "remember_refused", message: remember, approval };
  const ruled = await parts.book.rule(approval, rulingOf(request, admitted, edit, parts));
  if (!ruled.won) return lost(ruled, request);
  if (request.remember === undefined || ruled.approval.state !== "approved")
    return { decided: true, approval: ruled.approval };
  const words = { ...request.remember, reason: parts.redactor.redact(request.remember.reason) };
  return { decided: true, approval: ruled.approval, grant: await parts.grants.make(words, ruled.approval, request) };
}

async function admitNow(
  approval: ApprovalRecord,
  request: DecisionRequest,
  inProcess: boolean,
  parts: Parts,
): Promise<Admitted | DecisionProblem> {
  const admitted = admit(approval, request, benchOf(approval, inProcess, parts));
  if ("code" in admitted || admitted.onBehalfOf === undefined) return admitted;
  // Whoever lost the account or the role since gives nobody a word any more.
  const message = await parts.givers.silenced(approval, admitted.onBehalfOf);
  return message === undefined ? admitted : { code: "decider_not_allowed", message };
}

function rulingOf(request: DecisionRequest, admitted: Admitted, edited: Ruling["edited"], parts: Parts): Ruling {
  const { decision, by, reason } = request;
  const { demand, onBehalfOf } = admitted;
  return {
    as: decision,
    by: by.user,
    via: by.via ?? `user:${by.user}`,
    onBehalfOf,
    reason: reason === undefined ? undefined : parts.redactor.redact(reason),
    quorum: demand.quorum,
    deny: demand.deny,
    edited,
  };
}

/** Why this yes is not to be remembered; undefined when it is, or nobody asked for that. */
function rememberRefusal(
  approval: ApprovalRecord,
  { decision, remember }: DecisionRequest,
  given: ApprovalRecord["arguments"],
  { demand }: Admitted,
  parts: Parts,
): string | undefined {
  if (remember === undefined) return undefined;
  if (decision !== "approved" && decision !== "modified") return "Only a yes is remembered.";
  if (!demand.remembers)
    return `The route \`${demand.rule}\` lets no yes be remembered for \`${approval.tool}\` at risk ${approval.risk}.`;
  return rememberProblem(remember, approval, given, parts.clock.now());
}

type DecisionProblem = Pick<Extract<Decided, { decided: false }>, "code" | "message">;

function refused(problem: DecisionProblem, approval: ApprovalRecord): Decided {
  return problem.code === "approval_unknown" // to another tenant it is not there
    ? { decided: false, ...problem }
    : { decided: false, ...problem, approval };
}

function lost({ approval, because }: Extract<Ruled, { won: false }>, { by }: DecisionRequest): Decided {
  if (because === "voted")
    return { decided: false, code: "approval_voted", message: votedAlready(approval, by), approval };
  if (because === "changed") {
    const message = `\`${approval.id}\` was edited meanwhile; look at it again.`;
    return { decided: false, code: "approval_changed", message, approval };
  }
  return { decided: false, ...late(approval), approval };
}

/** What the approver wrote instead, weighed as the recorded call would be; its risk and reasons replace the asked ones. */
async function weighEdit(
  approval: ApprovalRecord,
  request: DecisionRequest,
  arrival: ReturnType<Arrive>,
  parts: Parts,
) {
  const edited = read(request.arguments);
  const recorded = await parts.book.recorded(approval, arrival);
  const call = new Arrival({ ...recorded, ...edited });
  const weighed = await assess(ask(call), parts);
  if (isEnding(weighed)) return { refusal: weighed.ending === "refused" ? weighed.refusal : refusal("internal") };
  const { key } = approval;
  const { tool, action, digest, authority, found, risk, weighing } = weighed;
  return {
    arguments: edited.arguments,
    binding: bind({ tool, action, digest, authority, found, key }, approval.expiresAt),
    risk,
    why: weighing.reasons,
  };
}

/** What would be decided, and every rule that shaped it. Counts nothing, writes nothing, runs nothing. */
export async function explain(call: ToolCall, parts: Parts): Promise<Explanation> {
  const asked = ask(call);
  const weighed = (await mayAsk(asked, parts)) ?? (await assess(asked, parts));
  if (!isEnding(weighed)) {
    const { weighing, found, suggestion, verdict } = weighed;
    const { grant, silent } = verdict === "CONFIRM" ? await grantFor(weighed, undefined, parts) : { silent: [] };
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
