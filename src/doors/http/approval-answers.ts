/** Approvals as they are answered to somebody: each with what that one may say to it. */
import { rolesWith } from "../../accounts/roles.ts";
import { isAsker } from "../../approvals/eligibility.ts";
import type { ApprovalRecord } from "../../calls/records.ts";
import type { Decided, Runtime } from "../../face.ts";
import type { Who } from "../credentials.ts";
import { type ApprovalWire, approvalToWire, type ViewerWire, viewerToWire } from "../wire-approvals.ts";
import { grantToWire } from "../wire-grants.ts";
import { answer, problem } from "./answers.ts";
import { deciderOf } from "./decider.ts";

export async function approvalsFor(
  { approvals }: Runtime,
  by: Who,
  records: readonly ApprovalRecord[],
): Promise<readonly ApprovalWire[]> {
  const eligible = await approvals.eligibility(records, deciderOf(by));
  return records.map((record, i) => {
    const { demand, ...may } = eligible[i] ?? { may: [], demand: undefined };
    const viewer = mayDecide(by) ? viewerToWire(may) : onlyLooks;
    return approvalToWire(record, { demand, viewer: { ...viewer, ...withdrawing(by, record) } });
  });
}

/** With what a form is made from: the schema of the tool as it is offered now. */
export async function wholeApproval(runtime: Runtime, by: Who, record: ApprovalRecord): Promise<ApprovalWire> {
  const [wire = approvalToWire(record)] = await approvalsFor(runtime, by, [record]);
  return { ...wire, input_schema: runtime.tools.offer(record.tool, record.action)?.inputSchema };
}

export async function answerDecided(runtime: Runtime, by: Who, decided: Decided): Promise<Response> {
  const approval = decided.approval && (await wholeApproval(runtime, by, decided.approval));
  if (decided.decided) {
    const { grant } = decided;
    return answer({
      ...approval,
      ...(grant !== undefined && { grant: grantToWire(grant, runtime.approvals.grants.stateOf(grant)) }),
    });
  }
  return problem(decided.code, decided.message, {
    ...(decided.refusal && { details: { refusal: { ...decided.refusal } } }),
    ...(approval && { beside: { approval } }),
  });
}

/** Who may stop a call of anybody's may stop this one; who decides, what an agent of theirs asked, whoever is sent it. */
export function mayWithdraw({ kind, permissions, decider }: Who, approval: ApprovalRecord): boolean {
  if (permissions.has("calls:make")) return true;
  return kind === "person" && permissions.has("approvals:decide") && isAsker(approval, decider.user);
}

/** Told of their own alone: to stop what others ask is a word of its own, and not the first one to offer. */
function withdrawing(by: Who, approval: ApprovalRecord): Pick<ViewerWire, "withdraws"> {
  const isTheirs = by.kind === "agent" || isAsker(approval, by.decider.user);
  return approval.state === "pending" && isTheirs && mayWithdraw(by, approval) ? { withdraws: true } : {};
}

function mayDecide({ permissions }: Who): boolean {
  return permissions.has("approvals:decide");
}

const onlyLooks: ViewerWire = {
  may: [],
  why_not: "role",
  message: `You may look at requests, not decide them: that takes the role ${rolesWith("approvals:decide").join(" or ")}.`,
};
