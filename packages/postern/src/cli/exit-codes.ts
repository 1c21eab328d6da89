/** What the end of a command means to a script. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, denied: 3, waiting: 4, interrupted: 130 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** No person has decided: the call can be sent again. */
const waitingCodes: ReadonlySet<string> = new Set(["approval_timed_out", "approval_expired", "approval_withdrawn"]);

export function exitCodeOf(outcome: { readonly status: string; readonly code?: string | undefined }): ExitCode {
  if (outcome.status === "ok" || outcome.status === "preview") return exitCodes.ok;
  if (outcome.status === "pending" || waitingCodes.has(outcome.code ?? "")) return exitCodes.waiting;
  return outcome.status === "denied" ? exitCodes.denied : exitCodes.failed;
}
