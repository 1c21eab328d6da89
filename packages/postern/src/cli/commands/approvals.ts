import { actionText, duration } from "@postern/core";
import { type ApprovalView, approvals } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { approveCommand } from "../command-name.ts";
import { flagsOf, rowLimit } from "../flags.ts";
import { approvalCard } from "../output/card.ts";
import { ago, type Columns, inState, noRows, riskCell } from "../output/print.ts";
import { decisionCommands, wholeApprovalId } from "./decisions.ts";
import { grantCommands } from "./grants.ts";

export function commands(group: CommandGroup): void {
  group.list("list", "what waits, the most urgent at the top: what ends within five minutes, then the riskiest", {
    isDefault: true,
    flags: flagsOf(approvals.list.query, {
      state: { default: "pending", all: true },
      risk: { value: "level" },
      tool: { value: "name" },
      agent: { value: "name" },
      run_id: { name: "run", value: "id" },
      after: "page",
      limit: rowLimit(100),
    }),
    rows: "approvals",
    ask: ({ operator }, { state, ...where }) => operator.approvals.list({ ...where, ...inState(state) }),
    columns,
    empty: ({ state }) => noRows("approvals", state),
  });
  group.answer("show <id>", "one request: what would run, why you are asked, how long there is", {
    ask: async (work, { id }) => work.operator.approvals.show({ id: await wholeApprovalId(work, id) }),
    text: (approval, work) => `${approvalCard(approval, work.now(), work)}${howToApprove(approval, work.command)}`,
  });
  decisionCommands(group);
  grantCommands(group.group("grants", "remembered approvals: such calls ask no person"));
}

const columns: Columns<ApprovalView> = {
  APPROVAL: ({ approval_id }) => approval_id,
  RISK: ({ risk_level }, work) => riskCell(risk_level, work),
  TOOL: ({ what }) => actionText(what),
  "ASKED BY": ({ requested_by }) => requested_by.agent,
  ASKED: ({ created_at }, work) => ago(created_at, work),
  STATE: (one, { now }) => stateText(one, now()),
  ARGUMENTS: ({ what }) => JSON.stringify(what.arguments),
};

function stateText({ status, expires_at, quorum_left: left, routed, escalated_at }: ApprovalView, now: number): string {
  if (status !== "pending") return status;
  const ms = Date.parse(expires_at) - now;
  const votes = routed.quorum > 1 ? `, ${routed.quorum - left} of ${routed.quorum} yes` : "";
  return `${ms <= 0 ? "expired" : `${duration(ms)} left`}${votes}${escalated_at === undefined ? "" : ", escalated"}`;
}

/** The command that approves exactly what was shown. */
function howToApprove(approval: ApprovalView, command: string): string {
  if (approval.status !== "pending") return "";
  return `Nothing but what is shown here: ${approveCommand(approval, command, true)}\n`;
}
