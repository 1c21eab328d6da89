import type { Risk } from "../../core/call.ts";
import { higherRisk } from "../../core/risk.ts";
import type { Suggestion } from "../../policy/policy.ts";
import type { BrowserAction, BrowserCall } from "./actions.ts";
import { isTyping } from "./keys.ts";
import type { TabState } from "./tab.ts";

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

/** Judges a call for the gate and for a person, from the known state of its page. */
export function judge({ actions, checks }: BrowserCall, state: TabState, risk: Risk): Suggestion {
  const urls = actions.flatMap((action) => (action.do === "navigate" ? [action.url] : []));
  const target = urls[0] === undefined ? state.origin : URL.parse(urls[0])?.origin;
  const isSecret = state.secretFocus && actions.some(writes);
  const own = isSecret ? "critical" : actions.every(isReadOnly) ? "safe" : risk;
  const description = actions.map((action) => wordsOf(action, isSecret)).join(", then ");
  const where = target === undefined ? "" : ` on ${target}`;
  const why = checks.map(({ message, code, id }) => message ?? code ?? id).join("; ");
  return {
    risk: checks.length === 0 ? own : higherRisk(own, risk),
    summary: `${description}${where}${isSecret ? " (into a field for a password or a card)" : ""}`,
    ...(target !== undefined && { target }),
    ...(checks.length > 0 && { confirm: `the provider's safety check: ${why}` }),
  };
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
