/**
 * The list of `approvals watch`: which request is selected, what is being typed, and what a key does. Pure functions: they
 * ask for decisions and make none.
 *
 * Invariant: a key never decides a request that the person has not read. When the selected request goes away or changes,
 * none is selected. A request that has just appeared takes no decision. A request is approved only after its end was on
 * the screen. A critical request is approved by typing the tool's name. A paste decides nothing.
 */
import type { ApprovalView } from "../server/contract/approvals.ts";
import type { keyOf } from "./keys.ts";

export interface Inbox {
  readonly requests: readonly ApprovalView[];
  /** An approval id. */
  readonly selected: string | undefined;
  /** When it was selected, or a key came too early for it: wall clock, milliseconds. */
  readonly since: number;
  readonly reading: ReadingPosition;
  /** How many requests wait, also beyond this list. */
  readonly waiting: number;
  readonly typing: { readonly for: "confirm" | "deny"; readonly id: string; readonly text: string } | undefined;
  readonly message: string;
  readonly live: boolean;
  /** Whether a list was shown. Only in the first one a request is selected without a key. */
  readonly begun: boolean;
}

/** How much of the selected card was on a screen of so many columns. */
interface ReadingPosition {
  readonly columns: number;
  /** The first line on the screen. */
  readonly from: number;
  /** How many lines from the beginning were on the screen. */
  readonly to: number;
}

/** What was on the screen when a key was pressed. */
export interface Sight {
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly columns: number;
  /** How many lines the card has, and how many fit on the screen. */
  readonly lines: number;
  readonly height: number;
}

/** As long as in the console: longer than the pause in a double press. */
const quietMs = 1_000;

/** What a key asks for, besides a change of the screen. */
export type InboxRequest =
  | { readonly verb: "approve"; readonly approval: ApprovalView; readonly confirmation?: string }
  | { readonly verb: "deny"; readonly approval: ApprovalView; readonly reason: string }
  | { readonly verb: "leave" };

export interface KeyResult {
  readonly inbox: Inbox;
  readonly request?: InboxRequest;
}

type InboxKey = NonNullable<ReturnType<typeof keyOf>>;

export const emptyInbox: Inbox = {
  requests: [],
  selected: undefined,
  since: 0,
  reading: { columns: 0, from: 0, to: 0 },
  waiting: 0,
  typing: undefined,
  message: "",
  live: false,
  begun: false,
};

/** @param page the requests as they are now, the most urgent first */
export function withRequests(
  inbox: Inbox,
  { requests, waiting }: Pick<Inbox, "requests" | "waiting">,
  at: number,
): Inbox {
  const next = { ...inbox, requests, waiting };
  const before = selectedOf(inbox);
  const now = selectedOf(next);
  if (before !== undefined && (now === undefined || markOf(now) !== markOf(before))) {
    const message =
      now === undefined ? "It is over: decided elsewhere, expired or taken back." : "It was changed: look again.";
    return { ...next, selected: undefined, typing: undefined, message };
  }
  return inbox.begun ? next : { ...lookingAt(next, requests[0]?.approval_id, at), begun: true };
}

/** Changes when an approval would mean something else. Votes and time left do not count. */
function markOf({ shown_digest, routed }: ApprovalView): string {
  return JSON.stringify([shown_digest, routed]);
}

export function selectedOf({ requests, selected }: Pick<Inbox, "requests" | "selected">): ApprovalView | undefined {
  return requests.find(({ approval_id: id }) => id === selected);
}

function lookingAt(inbox: Inbox, selected: string | undefined, since: number): Inbox {
  return selected === inbox.selected ? inbox : { ...inbox, selected, since, reading: emptyInbox.reading };
}

/** Whether keys decide: a second after the request appeared, or after the last key that came too early. */
export function isArmed({ since }: Pick<Inbox, "since">, at: number): boolean {
  return at - since >= quietMs;
}

/** Adds what is on the screen now. On a screen of another width the lines differ, so none of them was read. */
export function readingOf(
  { reading }: Pick<Inbox, "reading">,
  { columns, lines, height }: Omit<Sight, "at">,
): ReadingPosition {
  const { from: first, to } = reading.columns === columns ? reading : { from: 0, to: 0 };
  const from = Math.max(0, Math.min(first, lines - height));
  return { columns, from, to: from <= to ? Math.max(to, from + height) : to };
}

export function press(inbox: Inbox, key: InboxKey, sight: Sight): KeyResult {
  if (inbox.typing !== undefined) return typed(inbox, inbox.typing, key);
  return pressed({ ...inbox, reading: readingOf(inbox, sight) }, key, sight);
}

function pressed(inbox: Inbox, key: InboxKey, sight: Sight): KeyResult {
  if ("pasted" in key) return { inbox: { ...inbox, message: "That was pasted; press one key at a time." } };
  const word = "name" in key ? key.name : key.text;
  if (word === "q" || word === "end") return { inbox, request: { verb: "leave" } };
  if (word === "j" || word === "down") return { inbox: moved(inbox, 1, sight.at) };
  if (word === "k" || word === "up") return { inbox: moved(inbox, -1, sight.at) };
  if (word === " " || word === "page down") return { inbox: scrolled(inbox, sight.height) };
  if (word === "b" || word === "page up") return { inbox: scrolled(inbox, -sight.height) };
  const approval = selectedOf(inbox);
  if (word !== "a" && word !== "d") return { inbox };
  if (approval === undefined) return { inbox: { ...inbox, message: "Nothing is selected: j and k move." } };
  if (!isArmed(inbox, sight.at))
    return { inbox: { ...inbox, since: sight.at, message: "It has just appeared: read it, then press again." } };
  const id = approval.approval_id;
  if (word === "d") return { inbox: { ...inbox, typing: { for: "deny", id, text: "" }, message: "" } };
  if (inbox.reading.to < sight.lines)
    return {
      inbox: { ...inbox, message: "There is more of it than is shown: space shows more. Then it can be approved." },
    };
  if (needsTyping(approval)) return { inbox: { ...inbox, typing: { for: "confirm", id, text: "" }, message: "" } };
  return { inbox: decided(inbox, "Approving …"), request: { verb: "approve", approval } };
}

function typed(inbox: Inbox, typing: NonNullable<Inbox["typing"]>, key: InboxKey): KeyResult {
  const approval = inbox.requests.find(({ approval_id: id }) => id === typing.id);
  if (approval === undefined) return { inbox: { ...inbox, typing: undefined } };
  if ("text" in key) return { inbox: { ...inbox, typing: { ...typing, text: typing.text + key.text } } };
  if ("pasted" in key) {
    if (typing.for === "confirm") return { inbox: { ...inbox, message: "Type the name; a paste does not count." } };
    return { inbox: { ...inbox, typing: { ...typing, text: `${typing.text}${key.pasted}`.slice(0, 2_000) } } };
  }
  switch (key.name) {
    case "erase":
      return { inbox: { ...inbox, typing: { ...typing, text: [...typing.text].slice(0, -1).join("") } } };
    case "escape":
    case "end":
      return { inbox: { ...inbox, typing: undefined, message: "Nothing was decided." } };
    case "enter":
      return entered(inbox, typing, approval);
    default:
      return { inbox };
  }
}

function entered(inbox: Inbox, { for: what, text }: NonNullable<Inbox["typing"]>, approval: ApprovalView): KeyResult {
  if (what === "deny")
    return { inbox: decided(inbox, "Denying …"), request: { verb: "deny", approval, reason: text.trim() } };
  if (text !== approval.what.tool)
    return { inbox: { ...inbox, typing: undefined, message: "That is not the tool's name; nothing was decided." } };
  return { inbox: decided(inbox, "Approving …"), request: { verb: "approve", approval, confirmation: text } };
}

/** After a decision no request is selected. */
function decided(inbox: Inbox, message: string): Inbox {
  return { ...inbox, selected: undefined, typing: undefined, message };
}

function moved(inbox: Inbox, by: 1 | -1, at: number): Inbox {
  const { requests, selected } = inbox;
  const place = requests.findIndex(({ approval_id: id }) => id === selected);
  const first = by === 1 ? 0 : requests.length - 1;
  const next = place < 0 ? first : Math.min(requests.length - 1, Math.max(0, place + by));
  return { ...lookingAt(inbox, requests[next]?.approval_id, at), message: "" };
}

/** By one screen, less one line that stays. */
function scrolled(inbox: Inbox, by: number): Inbox {
  const { reading } = inbox;
  const from = Math.max(0, reading.from + by - Math.sign(by));
  return { ...inbox, reading: { ...reading, from }, message: "" };
}

export function needsTyping({ risk_level: risk, routed }: ApprovalView): boolean {
  return risk === "critical" || routed.typed_confirmation;
}
