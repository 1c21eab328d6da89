import type { ApprovalState } from "../../../calls/records.ts";
import { risks } from "../../../calls/risk.ts";
import { approvalStates } from "../../../calls/states.ts";
import type { Approval } from "../../contract/approvals.ts";
import { actionText } from "../../said.ts";
import { wholeApprovalId } from "../approval-id.ts";
import { approvalCard } from "../card.ts";
import { quoted } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { tellOfMore, upTo } from "../pages.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { paintRisk } from "../terminal.ts";
import { duration, relative, table, visible } from "../text.ts";
import { oneOf, wholeNumber } from "./typed.ts";

export interface ListFlags extends GlobalFlags {
  readonly state?: string;
  readonly risk?: string;
  readonly tool?: string;
  readonly run?: string;
  readonly mine?: boolean;
  readonly limit?: string;
}

const states: readonly (ApprovalState | "all")[] = [...approvalStates, "all"];

export async function listApprovals(host: Host, flags: ListFlags): Promise<ExitCode> {
  const state = oneOf(flags.state ?? "pending", states, "--state");
  const limit = wholeNumber(flags.limit ?? "100", "--limit");
  const { tool, run, mine } = flags;
  const where = {
    ...(state !== "all" && { state }),
    ...(flags.risk !== undefined && { risk: oneOf(flags.risk, risks, "--risk") }),
    ...(tool !== undefined && { tool }),
    ...(run !== undefined && { run_id: run }),
    ...(mine === true && { mine: true }),
  };
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const { rows: approvals, next } = await upTo(limit, async (most, from?: string) => {
      const page = await work.operator.api.approvals.list({
        ...where,
        limit: most,
        ...(from !== undefined && { after: from }),
      });
      return { rows: page.approvals, next: page.next_after };
    });
    if (work.json) printJson(work, { approvals, next_after: next });
    else if (approvals.length === 0)
      work.terminal.out(state === "all" ? "No approvals yet.\n" : `No approvals are ${state}.\n`);
    else work.terminal.out(approvalTable(work, approvals));
    tellOfMore(work, next !== undefined);
    return exitCodes.ok;
  });
}

function approvalTable({ paint, terminal, now }: Work, approvals: readonly Approval[]): string {
  const rows = approvals.map((one) => {
    const { approval_id, risk_level: risk, what, requested_by, created_at } = one;
    return [
      approval_id,
      { text: risk, paint: (text: string) => text.replace(risk, paintRisk(paint, risk)) },
      actionText(what),
      requested_by.agent,
      relative(Date.parse(created_at), now()),
      stateText(one, now()),
      JSON.stringify(what.arguments),
    ];
  });
  return table(["APPROVAL", "RISK", "TOOL", "ASKED BY", "ASKED", "STATE", "ARGUMENTS"], rows, { terminal, paint });
}

function stateText(one: Approval, now: number): string {
  const { status, expires_at, quorum_left: left, routed, escalated_at: escalated } = one;
  if (status !== "pending") return status;
  const votes = routed.quorum > 1 ? `, ${routed.quorum - left} of ${routed.quorum} yes` : "";
  return `${leftText(Date.parse(expires_at) - now)}${votes}${escalated === undefined ? "" : ", escalated"}`;
}

function leftText(ms: number): string {
  return ms <= 0 ? "expired" : `${duration(ms)} left`;
}

export async function showApproval(host: Host, id: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const approval = await work.operator.api.approvals.show({ id: await wholeApprovalId(work, id) });
    if (work.json) printJson(work, approval);
    else work.terminal.out(`${approvalCard(approval, work.now(), work)}${onlyThis(approval, work.command)}`);
    return exitCodes.ok;
  });
}

/** How to say yes to exactly what was just read, and to nothing it may become. */
function onlyThis({ approval_id, status, shown_digest }: Approval, command: string): string {
  if (status !== "pending") return "";
  return `Nothing but what is shown here: ${command} approvals approve ${quoted(visible(approval_id))} --digest ${shown_digest}\n`;
}
