import { isDeepStrictEqual } from "node:util";
import { isElsewhere } from "../core/authority.ts";
import type { ApprovalRecord } from "../core/records.ts";
import { type BatchDecided, type BatchRequest, noApproval } from "./decision.ts";
import { type Routing, stricter, unrouted } from "./routes.ts";

export const largestBatch = 200;

interface FoundApproval {
  readonly id: string;
  readonly approval: ApprovalRecord | undefined;
}

/**
 * Why these are not decided together; then none of them is. A critical request, or one that needs a typed name, is
 * approved by itself. It may be denied together with others.
 */
export function batchProblem(
  found: readonly FoundApproval[],
  { by: { tenant }, decision }: Pick<BatchRequest, "by" | "decision">,
  routing: Pick<Routing, "demand">,
): Extract<BatchDecided, { taken: false }> | undefined {
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
  const what = `\`${first.id}\` is ${described(first.approval)} and \`${other.id}\` is ${described(other.approval)}`;
  return {
    taken: false,
    code: "batch_refused",
    message: `A batch is of one run and one tool, asked for the same reasons; ${what}. Decide them apart.`,
  };
}

function singlesProblem(
  found: readonly FoundApproval[],
  routing: Pick<Routing, "demand">,
): Extract<BatchDecided, { taken: false }> | undefined {
  const singles = found.filter(({ approval }) => approval !== undefined && needsItsOwn(approval, routing));
  const [first] = singles;
  if (first?.approval === undefined) return undefined;
  const more = singles.length === 1 ? "" : ` and ${singles.length - 1} more of these`;
  return {
    taken: false,
    code: "batch_refused",
    message: `\`${first.id}\`${more} would run \`${first.approval.tool}\` at risk ${first.approval.risk}, which is approved one by one, each with the tool's name typed; none of the batch was decided.`,
  };
}

function needsItsOwn(approval: ApprovalRecord, routing: Pick<Routing, "demand">): boolean {
  const demand = stricter(approval.routed ?? unrouted, routing.demand(approval));
  return approval.risk === "critical" || demand.typedConfirmation;
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

function described(approval: ApprovalRecord | undefined): string {
  const why = approval?.why.map(({ rule, says }) => `${rule} → ${says}`).join(", ");
  return `\`${approval?.tool}\` in run \`${approval?.runId}\` at risk ${approval?.risk} (${why})`;
}
