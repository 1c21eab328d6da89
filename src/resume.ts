/** The other verbs, by way of the same gates: resume, decide (an edit is gated), explain. */
import { bind } from "./approvals/binding.ts";
import { type Decided, type DecisionRequest, isWellFormed } from "./approvals/decision.ts";
import { Arrival, read } from "./calls/arrival.ts";
import type { ToolCall } from "./calls/call.ts";
import { isEnding } from "./calls/ending.ts";
import type { ToolOutcome } from "./calls/outcome.ts";
import type { ApprovalRecord } from "./calls/records.ts";
import { type Refusal, refusal } from "./calls/refusals.ts";
import type { Caller } from "./calls/session.ts";
import { ask } from "./gates/budget.ts";
import { mayAsk } from "./gates/run.ts";
import { assess, invoke } from "./invoke.ts";
import type { Parts } from "./parts.ts";
import type { Decision, ToolFacts } from "./policy/policy.ts";

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
  return approval && invoke(await parts.book.recorded(approval, arrival), caller, parts);
}

/** Who may decide what, and an edit through the gates before it is kept (D18, D19). Runs nothing. */
export async function decide(
  id: string,
  request: DecisionRequest,
  arrival: ReturnType<Arrive>,
  separateUser: boolean,
  parts: Parts,
): Promise<Decided> {
  const approval = await parts.book.get(id);
  if (approval === undefined)
    return { decided: false, code: "approval_unknown", message: `There is no approval \`${id}\`.` };
  const { decision, by, reason } = request;
  const barred = barrier(approval, request, separateUser);
  if (barred?.code === "approval_unknown") return { decided: false, ...barred }; // to another tenant it is not there
  if (barred !== undefined) return { decided: false, approval, ...barred };
  const ruling = {
    as: decision,
    by: by.user,
    via: by.via ?? `user:${by.user}`,
    reason: reason === undefined ? undefined : parts.redactor.redact(reason),
  };
  const edit = decision === "modified" ? await weighEdit(approval, request, arrival, parts) : undefined;
  if (edit !== undefined && "refusal" in edit)
    return { decided: false, code: "edit_refused", message: edit.refusal.message, refusal: edit.refusal, approval };
  const ruled = await parts.book.rule(approval, { ...ruling, edited: edit });
  if (ruled.won) return { decided: true, approval: ruled.approval };
  return { decided: false, ...late(ruled.approval) };
}

function barrier(
  approval: ApprovalRecord,
  request: DecisionRequest,
  separateUser: boolean,
): Pick<Extract<Decided, { decided: false }>, "code" | "message"> | undefined {
  const { by } = request;
  if (by.tenant !== undefined && by.tenant !== approval.principal.tenant)
    return { code: "approval_unknown", message: `There is no approval \`${approval.id}\`.` };
  const credential = by.via ?? `user:${by.user}`;
  const asker =
    approval.principal.via ??
    (approval.principal.user === undefined ? `agent:${approval.principal.agent}` : `user:${approval.principal.user}`);
  if (credential === asker)
    return {
      code: "decider_not_allowed",
      message: `\`${credential}\` asked for this call and cannot decide it; another credential must.`,
    };
  if (separateUser && by.user === approval.principal.user)
    return {
      code: "decider_not_allowed",
      message: `\`${by.user}\` asked for this call and cannot decide it; another person must.`,
    };
  if (!isWellFormed(request))
    return {
      code: "decision_invalid",
      message:
        "A decision is `approved`, `denied`, `skipped` or `modified`. Arguments go with `modified`, and only with it.",
    };
  return approval.state === "pending" ? undefined : late(approval);
}

function late(approval: ApprovalRecord): Pick<Extract<Decided, { decided: false }>, "code" | "message" | "approval"> {
  if (approval.state === "expired")
    return {
      code: "approval_expired",
      message: `The approval \`${approval.id}\` has expired; the call must be sent again.`,
      approval,
    };
  const by = approval.decision === undefined ? "" : ` by ${approval.decision.by}`;
  const state = approval.state === "used" ? `approved${by}, and used` : `${approval.state}${by}`;
  return { code: "approval_decided", message: `The approval \`${approval.id}\` is ${state} already.`, approval };
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
    const { weighing, found, suggestion } = weighed;
    return {
      reached: "verdict",
      decision: weighing,
      facts: found.facts,
      ...(suggestion?.summary !== undefined && { summary: suggestion.summary }),
    };
  }
  const decision = call instanceof Arrival ? (call.weighing as Decision | undefined) : undefined; // the verdict gate left it there before it refused
  const refused = weighed.ending === "refused" ? weighed.refusal : refusal("internal");
  return { reached: "refused", refusal: refused, ...(decision !== undefined && { decision }) };
}
