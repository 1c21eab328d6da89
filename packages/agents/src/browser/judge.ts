import { higherRisk, type Risk } from "@postern/core";
import type { Suggestion } from "postern/policy";
import type { BrowserAction, BrowserCall } from "./actions.ts";
import type { FramesSeen } from "./frames-seen.ts";
import { isTyping } from "./keys.ts";

const looks: ReadonlySet<BrowserAction["do"]> = new Set([
  "screenshot",
  "text",
  "cursor",
  "zoom",
  "wait",
  "move",
  "scroll",
]);

/** Whether it changes nothing: the pointer moves, or the page is read. */
export function isReadOnly(action: BrowserAction): boolean {
  return looks.has(action.do);
}

/** Whether it may write into the focused field. */
export function writes(action: BrowserAction): boolean {
  return action.do === "type" || (action.do === "keys" && action.chords.some(isTyping));
}

/** Judges a call for the gate and for a person, from the frames that it acts in. */
export function suggestRisk({ actions, checks }: BrowserCall, seen: FramesSeen, risk: Risk): Suggestion {
  const urls = actions.flatMap((action) => (action.do === "navigate" ? [action.url] : []));
  const { refusal } = seen;
  const target = urls[0] === undefined ? seen.target : URL.parse(urls[0])?.origin;
  const isSecret = seen.secretFocus && actions.some(writes);
  // A call that is refused does nothing.
  const own = refusal !== undefined ? "safe" : isSecret ? "critical" : actions.every(isReadOnly) ? "safe" : risk;
  const description = actions.map((action) => wordsOf(action, isSecret)).join(", then ");
  const why = checks.map(({ message, code, id }) => message ?? code ?? id).join("; ");
  return {
    risk: checks.length === 0 ? own : higherRisk(own, risk),
    summary: `${description}${whereOf(target, urls.length > 0 ? target : seen.page)}${isSecret ? " (into a field for a password or a card)" : ""}`,
    ...(target !== undefined && { target }),
    ...(checks.length > 0 && { confirm: `the provider's safety check: ${why}` }),
  };
}

function whereOf(target: string | undefined, page: string | undefined): string {
  if (target === undefined) return "";
  return target === page ? ` on ${target}` : ` in a frame of ${target} on the page ${page ?? "without an address"}`;
}

function wordsOf(action: BrowserAction, isSecret: boolean): string {
  switch (action.do) {
    case "screenshot":
      return "take a screenshot";
    case "text":
      return "read the page's text";
    case "cursor":
      return "read where the pointer is";
    case "zoom":
      return `look closely at ${action.region.join(", ")}`;
    case "wait":
      return `wait ${action.ms / 1000} s`;
    case "move":
    case "press":
    case "release":
      return `${action.do} the pointer${action.at === undefined ? "" : ` at ${action.at.join(", ")}`}`;
    case "click":
      return `click ${action.count > 1 ? `${action.count} times ` : ""}(${[...action.held, action.button].join("+")})${action.at === undefined ? "" : ` at ${action.at.join(", ")}`}`;
    case "drag":
      return `drag from ${action.path[0]?.join(", ")} to ${action.path.at(-1)?.join(", ")}`;
    case "scroll":
      return `scroll by ${action.by.join(", ")}`;
    case "type":
      return isSecret ? `type ${action.text.length} characters` : `type ${JSON.stringify(action.text.slice(0, 200))}`;
    case "keys":
      return isSecret ? "press keys" : `press ${action.chords.map((chord) => chord.join("+")).join(" ")}`;
    case "navigate":
      return `open ${action.url.slice(0, 500)}`;
    case "history":
      return action.to === "reload" ? "reload the page" : `go ${action.to}`;
  }
  return action satisfies never;
}
