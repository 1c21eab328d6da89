/**
 * Reads the actions that models request of a computer. One table (table.ts) translates each provider's actions; the rest
 * of the folder knows only our own.
 * Invariant: an action that is returned here is complete: its points lie in the viewport, its keys exist. An unreadable
 * action is refused with the name and the value, before a person is asked.
 */

import { isRecord, shown } from "@postern/core";
import { z } from "zod";
import type { BrowserAction, BrowserCall, BrowserProvider, Point, SafetyCheck, Viewport } from "./actions.ts";
import { table } from "./table.ts";

const mostActions = 50;

export type ReadCall = { readonly value: BrowserCall } | { readonly issues: readonly { readonly message: string }[] };

const check = z.object({ id: z.string(), code: z.string().nullish(), message: z.string().nullish() });
const checksOf = z.array(check).max(100).nullish();

/** An item of OpenAI (`action` or `actions`), input of Anthropic (`action` is a name) or arguments of Google (`type` is a name). */
export function readCall(given: unknown, viewport: Viewport): ReadCall {
  if (!isRecord(given)) return refused("an object is needed");
  const { action, actions, type } = given;
  if (typeof action === "string") return one("anthropic", action, given, viewport);
  if (isRecord(action) || Array.isArray(actions))
    return many(Array.isArray(actions) ? actions : [action], given, viewport);
  if (typeof type === "string" && type !== "computer_call") return one("google", type, given, viewport);
  return refused("no action is named: `action`, `actions` or `type` says which");
}

function many(list: readonly unknown[], given: Record<string, unknown>, viewport: Viewport): ReadCall {
  if (list.length === 0 || list.length > mostActions)
    return refused(`\`actions\` must hold 1 to ${mostActions} actions`);
  const checks = checksOf.safeParse(given["pending_safety_checks"]);
  if (!checks.success) return refused("`pending_safety_checks` is not a list of checks with an `id`");
  const read = list.map((item) => {
    const name = isRecord(item) ? item["type"] : undefined;
    return typeof name === "string" ? one("openai", name, item, viewport) : refused("an action has no `type`");
  });
  const bad = read.find((each) => "issues" in each);
  if (bad !== undefined) return bad;
  const found = read.flatMap((each) => ("value" in each ? each.value.actions : []));
  return { value: { provider: "openai", actions: found, checks: checks.data ?? [] } };
}

function one(provider: BrowserProvider, name: string, given: unknown, viewport: Viewport): ReadCall {
  const reader = table[provider].get(name);
  if (reader === undefined)
    return refused(`${shown(name)} is not a known action; there are ${[...table[provider].keys()].join(", ")}`);
  const read = reader.safeParse(given);
  if (!read.success) {
    const issues = read.error.issues.map(
      ({ path, message }) => `\`${[name, ...path.map(String)].join(".")}\`: ${message}`,
    );
    return refused(issues.join("; "));
  }
  const safety = isRecord(given) && provider === "google" ? safetyOf(given["safety_decision"]) : [];
  const actions = [read.data].flat().map((action) => (provider === "google" ? scaled(action, viewport) : action));
  const outside = actions.flatMap(pointsOf).find(([x, y]) => x >= viewport.width || y >= viewport.height);
  if (outside !== undefined) {
    const size = `${viewport.width} × ${viewport.height}`;
    return refused(`\`${name}\`: the point ${outside.join(", ")} lies outside of the page, which has ${size} pixels`);
  }
  return { value: { provider, actions, checks: safety } };
}

/** From thousandths of the page to its pixels. */
function scaled(action: BrowserAction, { width, height }: Viewport): BrowserAction {
  const to = ([x, y]: Point): Point => [Math.floor((x / 1000) * width), Math.floor((y / 1000) * height)];
  return {
    ...action,
    ...("at" in action && action.at !== undefined && { at: to(action.at) }),
    ...("path" in action && { path: action.path.map(to) }),
    ...("by" in action && { by: to(action.by) }),
  };
}

function pointsOf(action: BrowserAction): readonly Point[] {
  if (action.do === "drag") return action.path;
  if (action.do === "zoom")
    return [
      [action.region[0], action.region[1]],
      [action.region[2] - 1, action.region[3] - 1],
    ];
  return "at" in action && action.at !== undefined ? [action.at] : [];
}

/** Gemini sends `require_confirmation` where OpenAI lists checks; it has no id. */
function safetyOf(decision: unknown): readonly SafetyCheck[] {
  if (decision === undefined || decision === null) return [];
  const { explanation, decision: word } = isRecord(decision) ? decision : {};
  if (word === "regular" || word === "allowed") return [];
  return [{ id: "safety_decision", message: typeof explanation === "string" ? explanation : shown(decision) }];
}

function refused(message: string): ReadCall {
  return { issues: [{ message }] };
}
