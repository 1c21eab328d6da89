import { counted } from "../../core/shown.ts";
import type { Governance, GovernanceReason } from "./runs.ts";
import type { Tally } from "./tally.ts";

const ranks = { blocked: 3, failed: 2, incomplete: 1 } as const;
ranks satisfies Record<GovernanceReason["result"], number>;

/** SPEC 15.5: the worst reason is the result; without any the run has passed. */
export function governanceOf(tally: Tally, missing: readonly string[], lost: number): Governance {
  const reasons = [...unsafe(tally), ...broken(tally, lost), ...unfinished(tally, missing)].sort(
    (one, other) => ranks[other.result] - ranks[one.result],
  );
  return { result: reasons[0]?.result ?? "passed", reasons };
}

function* unsafe({ unsafe: found }: Tally): Generator<GovernanceReason> {
  for (const [code, { first, times }] of found) {
    yield {
      result: "blocked",
      code,
      message: times === 1 ? `${first}.` : `${first}, and ${times - 1} more.`,
    };
  }
}

function* broken({ state, reason, unknown, late }: Tally, lost: number): Generator<GovernanceReason> {
  if (state === "failed")
    yield { result: "failed", code: "run_failed", message: reason ?? "The run was said to have failed." };
  if (unknown.size > 0) {
    const [first = ""] = unknown;
    yield {
      result: "failed",
      code: "outcome_unknown",
      message: `${counted(unknown.size, "call")} may have happened, \`${first}\` first; settle with \`postern calls settle\`.`,
    };
  }
  if (late > 0)
    yield {
      result: "failed",
      code: "late_events",
      message: `${counted(late, "event")} came after the run was finished.`,
    };
  if (lost > 0)
    yield {
      result: "failed",
      code: "events_lost",
      message: `${counted(lost, "event")} could not be written; they are made up from the audit log at the next start.`,
    };
}

function* unfinished({ finishedAt, waiting, open }: Tally, missing: readonly string[]): Generator<GovernanceReason> {
  if (finishedAt === undefined)
    yield { result: "incomplete", code: "not_finished", message: "Nobody has finished the run." };
  for (const path of missing)
    yield { result: "incomplete", code: "deliverable_missing", message: `\`deliverables/${path}\` is missing.` };
  if (waiting.size > 0)
    yield {
      result: "incomplete",
      code: "approval_pending",
      message: `${counted(waiting.size, "request")} for approval nobody has decided.`,
    };
  if (finishedAt !== undefined && open.size > 0)
    yield { result: "incomplete", code: "calls_open", message: `${counted(open.size, "call")} had not ended.` };
}
