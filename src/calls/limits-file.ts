import type { Risk } from "./call.ts";
import { given } from "./given.ts";
import type { Limits } from "./session.ts";

/** Limits as a configuration file says them, of every session and of scripts. */
export interface LimitsFile {
  readonly max_tool_calls?: number | undefined;
  readonly call_timeout_ms?: number | undefined;
  readonly approval_wait_ms?: number | undefined;
  readonly total_timeout_ms?: number | undefined;
  readonly max_inline_result_bytes?: number | undefined;
  readonly max_risk_unapproved?: Risk | undefined;
}

export function limitsFrom(file: LimitsFile): Partial<Limits> {
  return given({
    maxToolCalls: file.max_tool_calls,
    callTimeoutMs: file.call_timeout_ms,
    approvalWaitMs: file.approval_wait_ms,
    totalTimeoutMs: file.total_timeout_ms,
    maxInlineResultBytes: file.max_inline_result_bytes,
    maxRiskUnapproved: file.max_risk_unapproved,
  });
}
