/**
 * What waits for a person, as a terminal shows it: which is looked at, what is being typed, and what a key means. Pure:
 * it asks for decisions and makes none.
 *
 * Invariant: a key never decides what the person did not look at. Nothing is looked at after the one that was went away
 * or was decided; what has just appeared takes no key; what was not read to its end is not approved; what is critical, or
 * asks for it, is approved by typing the tool's name; nothing is decided by a paste.
 */
import type { ApprovalView } from "../server/contract/approvals.ts";
import type { keyOf } from "./keys.ts";

export interface Inbox {
  readonly requests: readonly ApprovalView[];
  /** The one that is looked at. */
  readonly selected: string | undefined;
  /** Since when that is so and nobody pressed too early: wall clock, milliseconds. */
  readonly since: number;
  readonly reading: ReadingPosition;
  /** How many wait in all, which may be more than are here. */
  readonly waiting: number;
  readonly typing: { readonly for: "confirm" | "deny"; readonly id: string; readonly text: string } | undefined;
  readonly message: string;
  readonly live: boolean;
  /** Whether a list was shown yet: only in the first one something is selected by itself. */
  readonly begun: boolean;
}

/** How far the card of the selected one was read, in lines of a screen of so many columns. */
interface ReadingPosition {
  readonly columns: number;
  /** The first line in sight. */
  readonly from: number;
  /** So many lines from its beginning were in sight. */
  readonly to: number;
}

/** What was on the screen when a key was pressed, and when that was. */
export interface Sight {
  readonly at: number;
  readonly columns: number;
  /** Of the card: how many it has, and how many are in sight at once. */
  readonly lines: number;
  readonly height: number;
}

/** As long as in the console: longer than the second half of a double press, also of a slow hand. */
const quietMs = 1_000;

/** What a key asks for, beside a change of what is shown. */
export type Wish =
  | { readonly wish: "approve"; readonly request: ApprovalView; readonly confirmation?: string }
  | { readonly wish: "deny"; readonly request: ApprovalView; readonly reason: string }
  | { readonly wish: "leave" };

export interface Pressed {
  readonly inbox: Inbox;
  readonly wish?: Wish;
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

/** @param page as they are now, the most urgent first, and how many there are */
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

/** What a yes is a yes to; not who has voted since, nor how long it still waits. */
function markOf({ shown_digest, routed }: ApprovalView): string {
  return JSON.stringify([shown_digest, routed]);
}

export function selectedOf({ requests, selected }: Pick<Inbox, "requests" | "selected">): ApprovalView | undefined {
  return requests.find(({ approval_id: id }) => id === selected);
}

function lookingAt(inbox: Inbox, selected: string | undefined, since: number): Inbox {
  return selected === inbox.selected ? inbox : { ...inbox, selected, since, reading: emptyInbox.reading };
}

/** What has just appeared under a hand that meant something else takes no key: only when nobody has tried for a second. */
export function isArmed({ since }: Pick<Inbox, "since">, at: number): boolean {
  return at - since >= quietMs;
}

/** With what is in sight now: a screen of another width lays the card out anew, and nothing of it was read then. */
export function readingOf(
  { reading }: Pick<Inbox, "reading">,
  { columns, lines, height }: Omit<Sight, "at">,
): ReadingPosition {
  const { from: first, to } = reading.columns === columns ? reading : { from: 0, to: 0 };
  const from = Math.max(0, Math.min(first, lines - height));
  return { columns, from, to: from <= to ? Math.max(to, from + height) : to };
}

export function press(inbox: Inbox, key: InboxKey, sight: Sight): Pressed {
  if (inbox.typing !== undefined) return typed(inbox, inbox.typing, key);
  return pressed({ ...inbox, reading: readingOf(inbox, sight) }, key, sight);
}

function pressed(inbox: Inbox, key: InboxKey, sight: Sight): Pressed {
  if ("pasted" in key) return { inbox: { ...inbox, message: "That was pasted; press one key at a time." } };
  const word = "name" in key ? key.name : key.text;
  if (word === "q" || word === "end") return { inbox, wish: { wish: "leave" } };
  if (word === "j" || word === "down") return { inbox: moved(inbox, 1, sight.at) };
  if (word === "k" || word === "up") return { inbox: moved(inbox, -1, sight.at) };
  if (word === " " || word === "page down") return { inbox: scrolled(inbox, sight.height) };
  if (word === "b" || word === "page up") return { inbox: scrolled(inbox, -sight.height) };
  const request = selectedOf(inbox);
  if (word !== "a" && word !== "d") return { inbox };
  if (request === undefined) return { inbox: { ...inbox, message: "Nothing is selected: j and k move." } };
  if (!isArmed(inbox, sight.at))
    return { inbox: { ...inbox, since: sight.at, message: "It has just appeared: read it, then press again." } };
  const id = request.approval_id;
  if (word === "d") return { inbox: { ...inbox, typing: { for: "deny", id, text: "" }, message: "" } };
  if (inbox.reading.to < sight.lines)
    return {
      inbox: { ...inbox, message: "There is more of it than is shown: space shows more. Then it can be approved." },
    };
  if (needsTyping(request)) return { inbox: { ...inbox, typing: { for: "confirm", id, text: "" }, message: "" } };
  return { inbox: decided(inbox, "Approving …"), wish: { wish: "approve", request } };
}

function typed(inbox: Inbox, typing: NonNullable<Inbox["typing"]>, key: InboxKey): Pressed {
  const request = inbox.requests.find(({ approval_id: id }) => id === typing.id);
  if (request === undefined) return { inbox: { ...inbox, typing: undefined } };
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
      return entered(inbox, typing, request);
    default:
      return { inbox };
  }
}

function entered(inbox: Inbox, { for: what, text }: NonNullable<Inbox["typing"]>, request: ApprovalView): Pressed {
  if (what === "deny") {
    const wish: Wish = { wish: "deny", request, reason: text.trim() };
    return { inbox: decided(inbox, "Denying …"), wish };
  }
  if (text !== request.what.tool)
    return { inbox: { ...inbox, typing: undefined, message: "That is not the tool's name; nothing was decided." } };
  return { inbox: decided(inbox, "Approving …"), wish: { wish: "approve", request, confirmation: text } };
}

/** Whoever decides looks for the next one anew. */
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

/** By a screenful, but for a line that stays in sight. */
function scrolled(inbox: Inbox, by: number): Inbox {
  const { reading } = inbox;
  const from = Math.max(0, reading.from + by - Math.sign(by));
  return { ...inbox, reading: { ...reading, from }, message: "" };
}

export function needsTyping({ risk_level: risk, routed }: ApprovalView): boolean {
  return risk === "critical" || routed.typed_confirmation;
}
