import type { ApprovalWire } from "../wire-approvals.ts";
import { approvalCard } from "./card.ts";
import type { Inbox } from "./inbox.ts";
import { type Paint, paintRisk } from "./terminal.ts";
import { duration, fit, visible } from "./text.ts";

const mostListed = 12;

/** The whole screen as text: the list, the card of the one that is looked at, and what keys do now. */
export function inboxScreen(inbox: Inbox, now: number, columns: number, paint: Paint): string {
  const { requests, selected, live } = inbox;
  const count = requests.length === 0 ? "nothing waits for you" : `${requests.length} waiting`;
  const head = `${paint("bold", "Postern")}  ${count}${live ? "" : paint("yellow", "  connecting …")}`;
  const at = Math.max(
    0,
    requests.findIndex(({ approval_id: id }) => id === selected),
  );
  const from = Math.max(0, Math.min(at - Math.floor(mostListed / 2), requests.length - mostListed));
  const lines = requests
    .slice(from, from + mostListed)
    .map((one) => lineOf(one, one.approval_id === selected, now, columns));
  const shown = requests.find(({ approval_id: id }) => id === selected);
  return [
    head,
    "",
    ...lines,
    ...(requests.length > mostListed
      ? [paint("dim", `  ${from + 1} to ${from + lines.length} of ${requests.length}`)]
      : []),
    "",
    ...(shown === undefined ? [] : [approvalCard(shown, now, paint)]),
    footOf(inbox, shown, paint),
    "",
  ].join("\n");

  function lineOf(request: ApprovalWire, isSelected: boolean, time: number, width: number): string {
    const { what, requested_by: by, risk_level: risk, expires_at: expiry } = request;
    const left = Date.parse(expiry) - time;
    const text = `${isSelected ? "›" : " "} ${visible(what.tool)}  ${risk}  ${visible(by.agent)}  ${left <= 0 ? "expired" : `${duration(left)} left`}`;
    const cut = fit(text, Math.max(20, width - 1)).replace(`  ${risk}  `, `  ${paintRisk(paint, risk)}  `);
    return isSelected ? paint("bold", cut) : cut;
  }
}

function footOf({ typing, message }: Inbox, shown: ApprovalWire | undefined, paint: Paint): string {
  const said = message === "" ? "" : `${paint("yellow", message)}\n`;
  if (typing?.for === "confirm")
    return `${said}This is ${shown?.risk_level ?? "critical"}. Type ${paint("bold", visible(shown?.what.tool ?? ""))} and Enter to approve, Esc to go back: ${visible(typing.text)}`;
  if (typing?.for === "deny")
    return `${said}Reason, told to the agent (may be empty). Enter denies, Esc goes back: ${visible(typing.text)}`;
  return `${said}${paint("dim", "j k move · a approve once · d deny · q leave")}`;
}
