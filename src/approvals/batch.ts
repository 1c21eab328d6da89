import type { ApprovalRecord } from "../calls/records.ts";
import type { BatchDecided, Decider } from "./decision.ts";

export const largestBatch = 200;

interface Found {
  readonly id: string;
  readonly approval: ApprovalRecord | undefined;
}

/** Why these are not decided together: then none of them is. */
export function batchProblem(
  found: readonly Found[],
  { tenant }: Decider,
): Extract<BatchDecided, { taken: false }> | undefined {
  const [first] = found;
  if (first === undefined || found.length > largestBatch)
    return {
      taken: false,
      code: "batch_refused",
      message: `A batch is 1 to ${largestBatch} approvals; these are ${found.length}.`,
    };
  const missing = found.find(({ approval }) => isForeign(approval, tenant));
  if (missing !== undefined)
    return { taken: false, code: "approval_unknown", message: `There is no approval \`${missing.id}\`.` };
  const other = found.find(({ approval }) => !isAlike(approval, first.approval));
  if (other === undefined) return undefined;
  const what = `\`${first.id}\` is ${described(first.approval)} and \`${other.id}\` is ${described(other.approval)}`;
  return {
    taken: false,
    code: "batch_refused",
    message: `A batch is of one run and one tool; ${what}. Decide them apart.`,
  };
}

function isForeign(approval: ApprovalRecord | undefined, tenant: string | undefined): boolean {
  return approval === undefined || (tenant !== undefined && tenant !== approval.principal.tenant);
}

function isAlike(one: ApprovalRecord | undefined, other: ApprovalRecord | undefined): boolean {
  return (
    one?.runId === other?.runId &&
    one?.tool === other?.tool &&
    one?.action === other?.action &&
    one?.principal.tenant === other?.principal.tenant
  );
}

function described(approval: ApprovalRecord | undefined): string {
  return `\`${approval?.tool}\` in run \`${approval?.runId}\``;
}
