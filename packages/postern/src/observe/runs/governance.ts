import { counted } from "@postern/core";
import type { Governance, GovernanceReason } from "./runs.ts";
import type { Tally } from "./tally.ts";

/** The worst reason is the result. A run without a reason has passed. */
export function governanceOf(tally: Tally, missing: readonly string[], lost: number): Governance {
  const reasons = [...blocked(tally), ...failed(tally, lost), ...incomplete(tally, missing)]; // the worst first
  return { result: reasons[0]?.result ?? "passed", reasons };
}

function blocked({ unsafe }: Tally): readonly GovernanceReason[] {
  return [...unsafe].map(([code, { first, times }]) => {
    return { result: "blocked", code, message: times === 1 ? `${first}.` : `${first}, and ${times - 1} more.` };
  });
}

function* failed({ state, reason, unknown, late }: Tally, lost: number): Generator<GovernanceReason> {
  const because = (code: string, message: string): GovernanceReason => ({ result: "failed", code, message });
  const [first = ""] = unknown;
  const calls = counted(unknown.size, "call");
  if (state === "failed") yield because("run_failed", reason ?? "The run was reported as failed.");
  if (unknown.size > 0)
    yield because(
      "outcome_unknown",
      `${calls} may have happened, \`${first}\` first; settle with \`postern calls settle\`.`,
    );
  if (late > 0) yield because("late_events", `${counted(late, "event")} came after the run was finished.`);
  if (lost > 0)
    yield because(
      "events_lost",
      `${counted(lost, "event")} could not be written; they are made up from the audit log at the next start.`,
    );
}

function* incomplete({ finishedAt, waiting, open }: Tally, missing: readonly string[]): Generator<GovernanceReason> {
  const because = (code: string, message: string): GovernanceReason => ({ result: "incomplete", code, message });
  const isOver = finishedAt !== undefined;
  if (!isOver) yield because("not_finished", "The run is not finished.");
  for (const path of missing) yield because("deliverable_missing", `\`deliverables/${path}\` is missing.`);
  if (waiting.size > 0)
    yield because("approval_pending", `${counted(waiting.size, "request")} for approval not decided.`);
  if (isOver && open.size > 0) yield because("calls_open", `${counted(open.size, "call")} had not ended.`);
}
