/**
 * What a store counts of calls and decisions, in the transaction that makes them true: one number for each hour, tool,
 * agent, decider, kind and step of duration, and one for each minute and kind. Rows of several processes add up.
 *
 * Next: tools/statistics.ts (what people read of it).
 */
import type { ApprovalEndName, EndName, RefusalCode, StoreWrite } from "@postern/core";

/** How a call or a request is counted. `asked`: a person was asked about a call. */
export type CountedAs = "ok" | "failed" | "unknown" | "refused" | "previewed" | "asked" | ApprovalEndName;

/** Calls or decisions that are counted together. Members that the filter does not keep apart are empty, and `at` is 0. */
export interface CountedCalls {
  /** The first moment of the hour or the minute: wall clock, milliseconds. */
  readonly at: number;
  readonly tenant: string;
  /** Empty for a tool that does not exist, and in minutes. */
  readonly tool: string;
  readonly action: string;
  readonly agent: string;
  /** Who decided; empty if the clock did, or no decision is counted. */
  readonly decider: string;
  readonly as: CountedAs;
  /** Of a call that was refused, failed or is unknown; else empty. */
  readonly code: string;
  /** The step of the duration (`stepOf`): of an execution, or of the wait for a decision. 0 for all others. */
  readonly step: number;
  readonly count: number;
  /** Wall clock, milliseconds. */
  readonly lastAt: number;
}

export type Period = "minute" | "hour";
export type StatisticsMember = "at" | "tool" | "action" | "agent" | "decider";

export interface StatisticsFilter {
  readonly tenant?: string;
  /** Minutes are kept for two hours, and have no tools and no people. */
  readonly period: Period;
  /** Wall clock, milliseconds: periods that begin in `from <= at < until`. */
  readonly from: number;
  readonly until: number;
  readonly tool?: string;
  readonly agent?: string;
  /** What is not named is added up. */
  readonly by: readonly StatisticsMember[];
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

export const periodMs: Readonly<Record<Period, number>> = { minute: 60_000, hour: 3_600_000 };
/** How long the rows of a period are kept. */
export const keptMs: Readonly<Record<Period, number>> = { minute: 2 * 3_600_000, hour: 400 * 86_400_000 };

/** The endings that are missing belong to a call that has not ended, or that is counted already. */
const endings: { readonly [Name in EndName]?: CountedAs } = {
  succeeded: "ok",
  failed: "failed",
  unknown: "unknown",
  refused: "refused",
  blocked: "refused",
  antiflap_blocked: "refused",
  storm_blocked: "refused",
  previewed: "previewed",
};

interface Counted {
  readonly as: CountedAs;
  readonly code?: RefusalCode | undefined;
  readonly decider?: string | undefined;
  readonly step: number;
  readonly hasTool: boolean;
}

/** Rows of statistics in memory: all of a store, or those of one transaction. */
export class StatisticRows {
  readonly rows: ReadonlyMap<string, CountedCalls>;
  readonly #rows = new Map<string, Writable<CountedCalls>>();
  #latest = -1;

  constructor() {
    this.rows = this.#rows;
  }

  /** Counts what a write makes true. Call it when the write has won. */
  add(write: StoreWrite): void {
    const { event } = write;
    if (event === undefined || event.moment === "noted" || event.moment === "attempted") return;
    const counted = countedIn(write);
    if (counted === undefined) return;
    const { at, call } = event;
    const { as, code = "", decider = "", step, hasTool } = counted;
    const { tenant, agent } = call.authority.principal;
    const [tool, action] = hasTool ? [call.tool, call.action] : ["", ""];
    const hour = at - (at % periodMs.hour);
    const minute = at - (at % periodMs.minute);
    const key = `${hour}h${step}${as}${code}\0${tenant}\0${tool}\0${action}\0${agent}\0${decider}`;
    if (!this.#isCounted(key, at)) {
      const names = { tenant, tool, action, agent, decider };
      this.#rows.set(key, { at: hour, ...names, as, code, step, count: 1, lastAt: at });
    }
    const minuteKey = `${minute}m${as}\0${tenant}`;
    if (!this.#isCounted(minuteKey, at)) {
      const names = { tenant, tool: "", action: "", agent: "", decider: "" };
      this.#rows.set(minuteKey, { at: minute, ...names, as, code: "", step: 0, count: 1, lastAt: at });
    }
    this.#latest = Math.max(this.#latest, at);
  }

  /** Removes rows that are older than they are kept. */
  prune(): void {
    for (const [key, { at }] of this.#rows) if (at < this.#latest - keptMs[periodOf(key)]) this.#rows.delete(key);
  }

  /** The answer of `Store.statistics`, if these are all rows. */
  list(where: StatisticsFilter): readonly CountedCalls[] {
    return statisticsIn(this.#rows, where);
  }

  /** Adds one to a row. False if there is none yet. */
  #isCounted(key: string, at: number): boolean {
    const known = this.#rows.get(key);
    if (known === undefined) return false;
    known.count += 1;
    known.lastAt = Math.max(known.lastAt, at);
    return true;
  }
}

/** The period of a row, from its key in `StatisticRows.rows`. */
export function periodOf(key: string): Period {
  return /^\d+m/.test(key) ? "minute" : "hour";
}

/** The answer of `Store.statistics`, from all rows by their keys in `StatisticRows.rows`. */
export function statisticsIn(
  rows: ReadonlyMap<string, CountedCalls>,
  { period, tenant, from, until, tool, agent, by }: StatisticsFilter,
): readonly CountedCalls[] {
  const ofPeriod = [...rows].filter(([key]) => periodOf(key) === period).map(([, row]) => row);
  const latestAt = ofPeriod.reduce((latest, { lastAt }) => Math.max(latest, lastAt), 0);
  const since = Math.max(from, latestAt - keptMs[period]);
  const wanted = ofPeriod.filter(
    (row) =>
      row.at >= since &&
      row.at < until &&
      (tenant === undefined || row.tenant === tenant) &&
      (tool === undefined || row.tool === tool) &&
      (agent === undefined || row.agent === agent),
  );
  return addedUp(wanted, by);
}

/** Rows that agree in what is kept apart become one. */
export function addedUp(rows: Iterable<CountedCalls>, by: readonly StatisticsMember[]): readonly CountedCalls[] {
  const sums = new Map<string, Writable<CountedCalls>>();
  const [hasAt, hasTool, hasAction] = [by.includes("at"), by.includes("tool"), by.includes("action")];
  const [hasAgent, hasDecider] = [by.includes("agent"), by.includes("decider")];
  for (const row of rows) {
    const kept = {
      at: hasAt ? row.at : 0,
      tool: hasTool ? row.tool : "",
      action: hasAction ? row.action : "",
      agent: hasAgent ? row.agent : "",
      decider: hasDecider ? row.decider : "",
    };
    const { tenant, as, code, step } = row;
    const key = [...Object.values(kept), tenant, as, code, step].join("\0");
    const known = sums.get(key);
    if (known === undefined) {
      sums.set(key, { ...row, ...kept });
      continue;
    }
    known.count += row.count;
    known.lastAt = Math.max(known.lastAt, row.lastAt);
  }
  return [...sums.values()];
}

function countedIn(write: StoreWrite): Counted | undefined {
  const { event } = write;
  switch (event?.moment) {
    case "held":
      return { as: "asked", step: 0, hasTool: true };
    case "decided": {
      const waitedMs = write.write === "decide" ? event.at - write.approval.requestedAt : 0;
      const decider = event.as === "expired" ? undefined : event.by;
      return { as: event.as, decider, step: stepOf(waitedMs), hasTool: true };
    }
    case "ended": {
      const as = event.code === "approval_timed_out" ? undefined : endings[event.as]; // its request is still open
      if (as === undefined) return undefined;
      const code = as === "ok" || as === "previewed" ? undefined : (event.code ?? event.outcome.refusal?.code);
      const hasRun = as === "ok" || as === "failed" || as === "unknown";
      return { as, code, step: hasRun ? stepOf(event.latencyMs) : 0, hasTool: event.weighing !== undefined };
    }
    default:
      return undefined;
  }
}

/** Four steps to a doubling, so a percentile is accurate to a tenth; from an eighth of a millisecond to days. */
const steps = 4;

/** The step of a duration, from 0. */
export function stepOf(ms: number): number {
  return Math.round(steps * Math.log2(8 * Math.max(ms, 0) + 1));
}

/** The duration in the middle of a step: milliseconds. */
function durationOf(step: number): number {
  return Math.round(((2 ** (step / steps) - 1) / 8) * 100) / 100;
}

/**
 * A percentile of durations, in milliseconds. Undefined if none is counted.
 *
 * @param part 0.5 for the median
 */
export function percentile(rows: readonly Pick<CountedCalls, "step" | "count">[], part: number): number | undefined {
  let left = Math.ceil(rows.reduce((sum, { count }) => sum + count, 0) * part);
  if (left === 0) return undefined;
  for (const { step, count } of rows.toSorted((a, b) => a.step - b.step)) {
    left -= count;
    if (left <= 0) return durationOf(step);
  }
  return undefined;
}
