/**
 * What waits for a person, as a terminal shows it: which is looked at, what is being typed, and what a key means. Pure:
 * it asks for decisions and makes none.
 *
 * Invariant: a key never decides what the person did not look at. Nothing is looked at after the one that was went away
 * or was decided; what is critical, or asks for it, is approved by typing the tool's name; nothing is decided by a paste.
 */
import type { ApprovalWire } from "../wire-approvals.ts";
import type { keyOf } from "./keys.ts";

export interface Inbox {
  readonly requests: readonly ApprovalWire[];
  /** The one that is looked at. */
  readonly selected: string | undefined;
  readonly typing: { readonly for: "confirm" | "deny"; readonly id: string; readonly text: string } | undefined;
  readonly message: string;
  readonly live: boolean;
  /** Whether a list was shown yet: only in the first one something is selected by itself. */
  readonly begun: boolean;
}

/** What a key asks for, beside a change of what is shown. */
export type Wish =
  | { readonly wish: "approve"; readonly request: ApprovalWire; readonly confirmation?: string }
  | { readonly wish: "deny"; readonly request: ApprovalWire; readonly reason: string }
  | { readonly wish: "leave" };

export interface Pressed {
  readonly inbox: Inbox;
  readonly wish?: Wish;
}

type Key = NonNullable<ReturnType<typeof keyOf>>;

export const emptyInbox: Inbox = {
  requests: [],
  selected: undefined,
  typing: undefined,
  message: "",
  live: false,
  begun: false,
};

/** @param requests as they are now, the most urgent first */
export function withRequests(inbox: Inbox, requests: readonly ApprovalWire[]): Inbox {
  const before = inbox.requests.find(({ approval_id: id }) => id === inbox.selected);
  const now = requests.find(({ approval_id: id }) => id === inbox.selected);
  if (before !== undefined && (now === undefined || now.shown_digest !== before.shown_digest)) {
    const message =
      now === undefined ? "It is over: decided elsewhere, expired or taken back." : "It was changed: look again.";
    return { ...inbox, requests, selected: undefined, typing: undefined, message };
  }
  return { ...inbox, requests, begun: true, selected: inbox.begun ? inbox.selected : requests[0]?.approval_id };
}

export function press(inbox: Inbox, key: Key): Pressed {
  return inbox.typing === undefined ? pressed(inbox, key) : typed(inbox, inbox.typing, key);
}

function pressed(inbox: Inbox, key: Key): Pressed {
  if ("pasted" in key) return { inbox: { ...inbox, message: "That was pasted; press one key at a time." } };
  const word = "name" in key ? key.name : key.text;
  if (word === "q" || word === "end") return { inbox, wish: { wish: "leave" } };
  if (word === "j" || word === "down") return { inbox: moved(inbox, 1) };
  if (word === "k" || word === "up") return { inbox: moved(inbox, -1) };
  const request = inbox.requests.find(({ approval_id: id }) => id === inbox.selected);
  if (word !== "a" && word !== "d") return { inbox };
  if (request === undefined) return { inbox: { ...inbox, message: "Nothing is selected: j and k move." } };
  const id = request.approval_id;
  if (word === "d") return { inbox: { ...inbox, typing: { for: "deny", id, text: "" }, message: "" } };
  if (needsTyping(request)) return { inbox: { ...inbox, typing: { for: "confirm", id, text: "" }, message: "" } };
  return { inbox: decided(inbox, "Approving …"), wish: { wish: "approve", request } };
}

function typed(inbox: Inbox, typing: NonNullable<Inbox["typing"]>, key: Key): Pressed {
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

function entered(inbox: Inbox, { for: what, text }: NonNullable<Inbox["typing"]>, request: ApprovalWire): Pressed {
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

function moved(inbox: Inbox, by: 1 | -1): Inbox {
  const { requests, selected } = inbox;
  const at = requests.findIndex(({ approval_id: id }) => id === selected);
  const next = at < 0 ? (by === 1 ? 0 : requests.length - 1) : Math.min(requests.length - 1, Math.max(0, at + by));
  return { ...inbox, selected: requests[next]?.approval_id, message: "" };
}

export function needsTyping({ risk_level: risk, routed }: ApprovalWire): boolean {
  return risk === "critical" || routed.typed_confirmation;
}
