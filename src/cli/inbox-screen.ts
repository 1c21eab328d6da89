import type { ApprovalView } from "../server/contract/approvals.ts";
import { cardLines } from "./card.ts";
import { actionText } from "./decision-text.ts";
import { type Inbox, isArmed, readingOf, type Sight, selectedOf } from "./inbox.ts";
import { type Paint, paintRisk } from "./terminal.ts";
import { duration, fit, type Sheet, visible } from "./text.ts";

const mostListed = 12;
const leastListed = 3;
/** Lines of a card on a very low screen. */
const leastOfCard = 5;
/** The most lines besides the list and the card. */
const otherLines = 8;

interface InboxScreen {
  readonly text: string;
  /** What of the card is on it. A key is compared with this. */
  readonly sight: Sight;
}

interface ScreenSheet extends Sheet {
  readonly terminal: { readonly columns: number; readonly rows: number };
}

/** The list, as much of the card as fits, and what the keys do now. */
export function inboxScreen(inbox: Inbox, now: number, screen: ScreenSheet): InboxScreen {
  const { requests, selected, live } = inbox;
  const { paint, terminal } = screen;
  const head = `${paint("bold", "Postern")}  ${countOf(inbox)}${live ? "" : paint("yellow", "  connecting …")}`;
  const most = Math.min(mostListed, Math.max(leastListed, Math.floor(terminal.rows / 4)));
  const at = Math.max(
    0,
    requests.findIndex(({ approval_id: id }) => id === selected),
  );
  const from = Math.max(0, Math.min(at - Math.floor(most / 2), requests.length - most));
  const listed = requests.slice(from, from + most);
  const shown = selectedOf(inbox);
  const card = shown === undefined ? [] : cardLines(shown, now, screen);
  const height = Math.max(leastOfCard, terminal.rows - listed.length - otherLines);
  const sight = { at: now, columns: terminal.columns, lines: card.length, height };
  const { from: first } = readingOf(inbox, sight);
  const text = [
    head,
    "",
    ...listed.map((one) => lineOf(one, { isSelected: one.approval_id === selected, now }, screen)),
    ...(requests.length > most ? [paint("dim", `  ${from + 1} to ${from + listed.length} of ${requests.length}`)] : []),
    "",
    ...card.slice(first, first + height),
    ...(card.length > height ? [paint("yellow", placeOf(first, height, card.length))] : []),
    ...(shown === undefined ? [] : [""]),
    footOf(inbox, shown, { now, paint }),
    "",
  ].join("\n");
  return { text, sight };
}

function countOf({ requests, waiting }: Inbox): string {
  if (requests.length === 0) return "nothing waits for you";
  const isMore = waiting > requests.length;
  return isMore ? `${waiting} waiting, the ${requests.length} most urgent here` : `${requests.length} waiting`;
}

function placeOf(first: number, height: number, lines: number): string {
  const last = Math.min(lines, first + height);
  const more = last < lines ? ` · ${lines - last} more below: space shows them` : " · its end; b goes back";
  return `lines ${first + 1} to ${last} of ${lines}${more}`;
}

function lineOf(
  request: ApprovalView,
  { isSelected, now }: { readonly isSelected: boolean; readonly now: number },
  { paint, terminal }: ScreenSheet,
): string {
  const { what, requested_by: by, risk_level: risk, expires_at: expiry } = request;
  const left = Date.parse(expiry) - now;
  const text = `${isSelected ? "›" : " "} ${visible(actionText(what))}  ${risk}  ${visible(by.agent)}  ${left <= 0 ? "expired" : `${duration(left)} left`}`;
  const cut = fit(text, Math.max(20, terminal.columns - 1)).replace(`  ${risk}  `, `  ${paintRisk(paint, risk)}  `);
  return isSelected ? paint("bold", cut) : cut;
}

function footOf(
  inbox: Inbox,
  shown: ApprovalView | undefined,
  { now, paint }: { readonly now: number; readonly paint: Paint },
): string {
  const { typing, message } = inbox;
  const above = message === "" ? "" : `${paint("yellow", message)}\n`;
  if (typing?.for === "confirm")
    return `${above}This is ${shown?.risk_level ?? "critical"}. Type ${paint("bold", visible(shown?.what.tool ?? ""))} and Enter to approve, Esc to go back: ${visible(typing.text)}`;
  if (typing?.for === "deny")
    return `${above}Reason for the agent (may be empty). Enter denies, Esc goes back: ${visible(typing.text)}`;
  const decides =
    shown === undefined || isArmed(inbox, now)
      ? "a approve once · d deny"
      : "it has just appeared: a and d in a second";
  return `${above}${paint("dim", `j k move · space b scroll · ${decides} · q leave`)}`;
}
