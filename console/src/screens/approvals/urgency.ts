import { rankOf, risks } from "@postern/core";
import type { ApprovalView } from "../../api/approvals.ts";

const minuteMs = 60_000;

type Ordered = Pick<ApprovalView, "approval_id" | "expires_at" | "risk_level">;

/** Sorting needs it thousands of times. */
const known = new WeakMap<Ordered, number>();

/** The server's order: first what expires in an earlier minute, then what is riskier. The smallest is the most urgent. */
export function urgencyOf(approval: Ordered): number {
  const before = known.get(approval);
  if (before !== undefined) return before;
  const endsMs = Date.parse(approval.expires_at);
  const minute = Math.floor(endsMs / minuteMs);
  const riskiestFirst = risks.length - 1 - rankOf(approval.risk_level);
  const urgency = (minute * risks.length + riskiestFirst) * minuteMs + (endsMs - minute * minuteMs);
  known.set(approval, urgency);
  return urgency;
}

export function byUrgency(a: Ordered, b: Ordered): number {
  return urgencyOf(a) - urgencyOf(b) || (a.approval_id < b.approval_id ? -1 : 1);
}
