import type { Risk } from "../core/call.ts";
import type { JsonObject } from "../core/json.ts";
import type { ApprovalRecord } from "../core/records.ts";
import { rankOf } from "../core/risk.ts";

/** What an approver says. Skipped: go on without it (D7). Modified: with these arguments instead (D19). */
export type ApproverAnswer =
  | { readonly decision: "approved" | "denied" | "skipped"; readonly reason?: string; readonly by?: string }
  | { readonly decision: "modified"; readonly arguments: JsonObject; readonly reason?: string; readonly by?: string };

/**
 * Somebody in this process who can be asked: a terminal, a rule, a test. The record is stored before `ask` is called,
 * and its answer is a decision like any other: recorded, attributed, gated again.
 *
 * Contract: a throw is a denial; `signal` ends the question when it was answered elsewhere or nobody waits any more.
 */
export interface Approver {
  readonly name: string;
  ask(request: ApprovalRecord, signal: AbortSignal): Promise<ApproverAnswer>;
}

/** For tests: says yes to everything (case 82). */
export function autoApprover(): Approver {
  return { name: "auto", ask: async () => ({ decision: "approved", reason: "approved automatically" }) };
}

/** Says yes up to a risk, and no above it, with the reason (case 83). */
export function policyApprover(upTo: Risk): Approver {
  return {
    name: "policy",
    async ask({ risk }) {
      const fits = rankOf(risk) <= rankOf(upTo);
      return {
        decision: fits ? "approved" : "denied",
        by: "policy",
        reason: `risk ${risk} is ${fits ? "within" : "above"} ${upTo}`,
      };
    },
  };
}

/** A bare callback as approver (case 86). */
export function callbackApprover(
  decide: (
    request: ApprovalRecord,
    signal: AbortSignal,
  ) => ApproverAnswer | boolean | Promise<ApproverAnswer | boolean>,
): Approver {
  return {
    name: "callback",
    async ask(request, signal) {
      const said = await decide(request, signal);
      return typeof said === "boolean" ? { decision: said ? "approved" : "denied" } : said;
    },
  };
}
