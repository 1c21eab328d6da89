/** Approvals as a caller sees them: each with what this caller may decide. */

import type { DecisionRequest, Eligible } from "../../approvals/decision.ts";
import { isAsker } from "../../approvals/eligibility.ts";
import type { ApprovalRecord } from "../../core/records.ts";
import { rolesWith } from "../../identity/roles.ts";
import type { Decided, Runtime } from "../../runtime/api.ts";
import { approval, type DecisionVerb, type ViewerInput } from "../contract/approvals.ts";
import { shape } from "../contract/route.ts";
import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";
import { deciderOf } from "./decider.ts";
import { type ApprovalAnswer, givenApproval } from "./given-approval.ts";
import { shownGrant } from "./grant-routes.ts";

export async function approvalsFor(
  { approvals }: Runtime,
  by: Who,
  records: readonly ApprovalRecord[],
): Promise<readonly ApprovalAnswer[]> {
  const eligible = await approvals.eligibility(records, deciderOf(by));
  return records.map((record, i) => {
    const { demand, ...may } = eligible[i] ?? { may: [], demand: undefined };
    const viewer = mayDecide(by) ? shownViewer(may) : onlyReads;
    return givenApproval(record, { demand, viewer: { ...viewer, ...withdrawing(by, record) } });
  });
}

/** With the schema of the tool as it is now, from which a form is made. */
export async function wholeApproval(runtime: Runtime, by: Who, record: ApprovalRecord): Promise<ApprovalAnswer> {
  const [shown = givenApproval(record)] = await approvalsFor(runtime, by, [record]);
  return { ...shown, input_schema: runtime.tools.offer(record.tool, record.action)?.inputSchema };
}

export async function answerDecided(runtime: Runtime, by: Who, decided: Decided): Promise<Response | ApprovalAnswer> {
  if (decided.decided) {
    const shown = await wholeApproval(runtime, by, decided.approval);
    const { grant } = decided;
    return grant === undefined
      ? shown
      : { ...shown, grant: shownGrant(grant, runtime.approvals.grants.stateOf(grant)) };
  }
  const shown = decided.approval && shape(approval, await wholeApproval(runtime, by, decided.approval));
  return problem(decided.code, decided.message, {
    ...(decided.refusal && { details: { refusal: { ...decided.refusal } } }),
    ...(shown && { beside: { approval: shown } }),
  });
}

/** A caller that may make calls may withdraw any; a person who decides, only what an agent of theirs asked. */
export function mayWithdraw({ kind, permissions, decider }: Who, record: ApprovalRecord): boolean {
  if (permissions.has("calls:make")) return true;
  return kind === "person" && permissions.has("approvals:decide") && isAsker(record, decider.user);
}

/** Offered only for the caller's own requests. */
function withdrawing(by: Who, record: ApprovalRecord): Pick<ViewerInput, "withdraws"> {
  const isTheirs = by.kind === "agent" || isAsker(record, by.decider.user);
  return record.state === "pending" && isTheirs && mayWithdraw(by, record) ? { withdraws: true } : {};
}

function mayDecide({ permissions }: Who): boolean {
  return permissions.has("approvals:decide");
}

const onlyReads: ViewerInput = {
  may: [],
  why_not: "role",
  message: `You may look at requests, not decide them: that takes the role ${rolesWith("approvals:decide").join(" or ")}.`,
};

const verbs: Readonly<Record<DecisionRequest["decision"], DecisionVerb>> = {
  approved: "approve",
  denied: "deny",
  skipped: "skip",
  modified: "modify",
};

function shownViewer({ may, whyNot, onBehalfOf }: Omit<Eligible, "demand">): ViewerInput {
  return {
    may: may.map((decision) => verbs[decision]),
    why_not: whyNot?.why,
    message: whyNot?.message,
    on_behalf_of: onBehalfOf,
  };
}
