import { type ApprovalRecord, type JsonObject, type Risk, rankOf } from "@postern/core";

/** An approver's answer. `skipped`: continue without the call. `modified`: run it with these arguments. */
export type ApproverAnswer =
  | { readonly decision: "approved" | "denied" | "skipped"; readonly reason?: string; readonly by?: string }
  | { readonly decision: "modified"; readonly arguments: JsonObject; readonly reason?: string; readonly by?: string };

/**
 * An approver in this process: a terminal, a rule, a test. The record is stored before `ask` is called,
 * and its answer is a decision like any other: recorded, attributed, gated again.
 *
 * Contract: a throw is a denial; `signal` ends the question when it was answered elsewhere or no caller waits any more.
 */
export interface Approver {
  readonly name: string;
  ask(request: ApprovalRecord, signal: AbortSignal): Promise<ApproverAnswer>;
}

/** For tests: approves everything. */
export function autoApprover(): Approver {
  return { name: "auto", ask: async () => ({ decision: "approved" }) };
}

/** Approves up to a risk and denies above it, with the reason. */
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

/** Makes an approver from a callback. */
export function callbackApprover(
  decide: (
    request: ApprovalRecord,
    signal: AbortSignal,
  ) => ApproverAnswer | boolean | Promise<ApproverAnswer | boolean>,
): Approver {
  return {
    name: "callback",
    async ask(request, signal) {
      const answer = await decide(request, signal);
      return typeof answer === "boolean" ? { decision: answer ? "approved" : "denied" } : answer;
    },
  };
}
