import type { ApprovalState } from "../../../calls/records.ts";
import type { ApprovalWire } from "../../wire.ts";
import { approvalCard } from "../card.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { paintRisk } from "../terminal.ts";
import { duration, relative, table } from "../text.ts";
import { objectOf } from "./arguments.ts";
import { oneOf, wholeNumber } from "./typed.ts";

export interface ListFlags extends GlobalFlags {
  readonly state?: string;
  readonly limit?: string;
}

const states: readonly (ApprovalState | "all")[] = [
  "pending",
  "approved",
  "denied",
  "skipped",
  "expired",
  "withdrawn",
  "used",
  "all",
];

export async function listApprovals(host: Host, flags: ListFlags): Promise<ExitCode> {
  const state = oneOf(flags.state ?? "pending", states, "--state");
  const limit = flags.limit === undefined ? {} : { limit: wholeNumber(flags.limit, "--limit") };
  return withPostern(host, flags, { tools: false }, async (work) => {
    const approvals = await work.operator.approvals({
      ...(state !== "all" && { state }),
      ...limit,
    });
    if (work.json) printJson(work, { approvals });
    else if (approvals.length === 0)
      work.terminal.out(state === "all" ? "No approvals yet.\n" : `No approvals are ${state}.\n`);
    else work.terminal.out(approvalTable(work, approvals));
    return exitCodes.ok;
  });
}

function approvalTable({ paint, terminal, now }: Work, approvals: readonly ApprovalWire[]): string {
  const rows = approvals.map(
    ({ approval_id, risk_level: risk, what, requested_by, created_at, expires_at, status }) => [
      approval_id,
      { text: risk, paint: (text: string) => text.replace(risk, paintRisk(paint, risk)) },
      what.tool,
      requested_by.agent,
      relative(Date.parse(created_at), now()),
      status === "pending" ? leftText(Date.parse(expires_at) - now()) : status,
      JSON.stringify(what.arguments),
    ],
  );
  return table(
    ["APPROVAL", "RISK", "TOOL", "ASKED BY", "ASKED", "STATE", "ARGUMENTS"],
    rows,
    terminal.columns,
    (text) => paint("dim", text),
  );
}

function leftText(ms: number): string {
  return ms <= 0 ? "expired" : `${duration(ms)} left`;
}

export async function showApproval(host: Host, id: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern(host, flags, { tools: false }, async (work) => {
    const approval = await work.operator.showApproval(id);
    if (work.json) printJson(work, approval);
    else work.terminal.out(approvalCard(approval, work.now(), work.paint));
    return exitCodes.ok;
  });
}

export interface DecideFlags extends GlobalFlags {
  readonly reason?: string;
  readonly arguments?: string;
}

export type DecisionVerb = "approve" | "deny" | "skip" | "modify";

const told: Readonly<Record<DecisionVerb, string>> = {
  approve: "Approved. The call runs once, as shown, when the agent sends it again or is still waiting.",
  deny: "Denied. The call will not run; the agent is told so.",
  skip: "Skipped. The call will not run; the agent is told to go on without it.",
  modify:
    "Approved with your arguments. The call runs once, with them, when the agent sends it again or is still waiting.",
};

/** As the operator. An edit is gated again, and a detached tool runs at once, so the tools must be there. */
export async function decide(host: Host, verb: DecisionVerb, id: string, flags: DecideFlags): Promise<ExitCode> {
  const edited = verb === "modify" ? objectOf(flags.arguments ?? "", "--arguments") : undefined;
  return withPostern(host, flags, { tools: true }, async (work) => {
    const approval = await (verb === "modify"
      ? work.operator.modify(id, edited ?? {}, flags.reason)
      : work.operator.decide(id, verb, flags.reason));
    if (work.json) printJson(work, approval);
    else work.terminal.out(`${approvalCard(approval, work.now(), work.paint)}${told[verb]}\n`);
    return exitCodes.ok;
  });
}
