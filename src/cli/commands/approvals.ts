import type { Command } from "commander";
import { type ApprovalView, approvals } from "../../server/contract/approvals.ts";
import type { Act } from "../act.ts";
import { wholeApprovalId } from "../approval-id.ts";
import { approvalCard } from "../card.ts";
import { quoted } from "../command-name.ts";
import { flagsOf, rowLimit } from "../flags.ts";
import type { Host } from "../host.ts";
import { ago, type Columns, inState, noRows, printAnswer, printList, riskCell } from "../print.ts";
import { actionText } from "../said.ts";
import { duration, visible } from "../text.ts";
import { decisionCommands, takeBackCommands } from "./decisions.ts";
import { delegationCommands, grantCommands } from "./grants.ts";

export function approvalCommands(group: Command, host: Host, act: Act): void {
  const filters = flagsOf(approvals.list.query, {
    state: { default: "pending", all: true },
    risk: { value: "level" },
    tool: { value: "name" },
    run_id: { name: "run", value: "id" },
    after: "none",
    limit: rowLimit(100),
  });
  const list = group
    .command("list", { isDefault: true })
    .description("what waits, the most urgent at the top: what ends first, in the same minute the riskiest");
  act(filters.addTo(list), (flags) => {
    const { state, limit, ...where } = filters.read(flags);
    return printList(
      { host, flags },
      {
        rows: "approvals",
        limit,
        ask: ({ operator }, page) => operator.approvals.list({ ...where, ...inState(state), ...page }),
        columns,
        empty: noRows("approvals", state),
      },
    );
  });
  const show = group
    .command("show")
    .description("one request: what would run, why you are asked, how long there is")
    .argument("<id>");
  act(show, (flags, [id = ""]) =>
    printAnswer(
      { host, flags },
      {
        ask: async (work) => work.operator.approvals.show({ id: await wholeApprovalId(work, id) }),
        text: (approval, work) => `${approvalCard(approval, work.now(), work)}${onlyThis(approval, work.command)}`,
      },
    ),
  );
  act(
    group.command("watch").description("what waits, live; decide with j k a d where you sit at a terminal"),
    async (flags) => (await import("./watch.ts")).watchApprovals(host, flags),
  );
  decisionCommands(group, host, act);
  takeBackCommands(group, host, act);
  grantCommands(group, host, act);
  delegationCommands(group, host, act);
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

function stateText(one: ApprovalView, now: number): string {
  const { status, expires_at, quorum_left: left, routed, escalated_at: escalated } = one;
  if (status !== "pending") return status;
  const votes = routed.quorum > 1 ? `, ${routed.quorum - left} of ${routed.quorum} yes` : "";
  return `${leftText(Date.parse(expires_at) - now)}${votes}${escalated === undefined ? "" : ", escalated"}`;
}

function leftText(ms: number): string {
  return ms <= 0 ? "expired" : `${duration(ms)} left`;
}

/** How to say yes to exactly what was just read, and to nothing it may become. */
function onlyThis({ approval_id, status, shown_digest }: ApprovalView, command: string): string {
  if (status !== "pending") return "";
  return `Nothing but what is shown here: ${command} approvals approve ${quoted(visible(approval_id))} --digest ${shown_digest}\n`;
}
