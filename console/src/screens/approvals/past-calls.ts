/** Which calls of a run the card shows: it has room for a few, and safe ones never displace a bad one. */
import { rankOf, risks } from "@postern/core";
import type { TimelineCall } from "@postern/core/contract";

export type PastCall = Pick<TimelineCall, "call_id" | "state" | "tool" | "action" | "risk_level" | "arrived_at">;

const mostShown = 8;
const wentWell: ReadonlySet<string> = new Set(["ok", "attempted", "queued", "suspended"]);

/**
 * Calls that are held are left out: they did nothing yet. `more` counts the calls that are in none of the lines.
 * @param calls new to old
 */
export function pastOf(calls: readonly PastCall[]) {
  const past = together(calls.filter(({ state }) => state !== "held"));
  const shown = new Set(past.toSorted((one, other) => weightOf(other) - weightOf(one)).slice(0, mostShown));
  const left = past.filter((one) => !shown.has(one));
  return { shown: past.filter((one) => shown.has(one)), more: left.reduce((sum, { times }) => sum + times, 0) };
}

/** A call that did not go well weighs more than any that did; of the same weight, the newer one comes first. */
function weightOf({ state, risk_level: risk }: PastCall): number {
  return (wentWell.has(state) ? 0 : risks.length) + (risk === undefined ? 0 : rankOf(risk));
}

/** The same call again and again is one line. */
function together(calls: readonly PastCall[]): readonly (PastCall & { readonly times: number })[] {
  const found: (PastCall & { readonly times: number })[] = [];
  for (const call of calls) {
    const last = found.at(-1);
    const isSame =
      last?.tool === call.tool &&
      last.action === call.action &&
      last.state === call.state &&
      last.risk_level === call.risk_level;
    if (last !== undefined && isSame && call.state !== "attempted")
      found[found.length - 1] = { ...last, times: last.times + 1 };
    else found.push({ ...call, times: 1 });
  }
  return found;
}
