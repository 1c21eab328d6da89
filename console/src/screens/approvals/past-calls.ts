/** Which of a run's calls stand beside a request: a card has room for a few, and a bad one is never pushed off by safe ones. */
export interface PastCall {
  readonly call_id: string;
  readonly state: string;
  readonly tool: string;
  readonly action: string;
  readonly risk_level?: string;
  readonly arrived_at: string;
}

/** The same call over and over is one line. */
export interface Past extends PastCall {
  readonly times: number;
}

export interface Told {
  /** New to old. */
  readonly shown: readonly Past[];
  /** Calls that are in none of these lines. */
  readonly more: number;
}

const mostShown = 8;
const wentWell: ReadonlySet<string> = new Set(["ok", "attempted", "queued", "suspended"]);
const risks: readonly (string | undefined)[] = ["medium", "high", "critical"];

/** @param calls new to old. What waits itself did nothing yet. */
export function pastOf(calls: readonly PastCall[]): Told {
  const past = together(calls.filter(({ state }) => state !== "held"));
  const shown = new Set(past.toSorted((one, other) => weightOf(other) - weightOf(one)).slice(0, mostShown));
  const left = past.filter((one) => !shown.has(one));
  return { shown: past.filter((one) => shown.has(one)), more: left.reduce((sum, { times }) => sum + times, 0) };
}

/** What did not go well weighs more than any that did; of the same weight, the newer one. */
function weightOf({ state, risk_level: risk }: PastCall): number {
  return (wentWell.has(state) ? 0 : risks.length + 1) + risks.indexOf(risk) + 1;
}

function together(calls: readonly PastCall[]): readonly Past[] {
  const found: Past[] = [];
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
