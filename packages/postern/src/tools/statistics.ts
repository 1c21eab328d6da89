import { checkMembers, defined, type Kind, RuntimeFault } from "@postern/core";
import { type CountedAs, type CountedCalls, percentile, periodMs } from "../store/statistics.ts";
import type { Store } from "../store/store.ts";

/**
 * Which calls are counted.
 *
 * @public
 */
export interface StatisticsRange {
  /** Default: `default`. */
  readonly tenant?: string;
  /** Wall clock, milliseconds. Default: 24 hours before `to`. The hour that it is in is counted whole. */
  readonly from?: number;
  /** Default: now. */
  readonly to?: number;
  /** Default: `hour` for a week and less, else `day`. */
  readonly every?: "hour" | "day";
  readonly tool?: string;
  readonly agent?: string;
}

/**
 * How calls ended.
 *
 * @public
 */
export interface CallStatistics {
  /** Executions, however they ended. */
  readonly calls: number;
  /** The part of them that failed, or whose end is unknown. */
  readonly errors: number;
  readonly unknown: number;
  /** Arrivals that policy, a person or a limit refused. */
  readonly refused: number;
  /** Calls for which a person was asked. */
  readonly asked: number;
  /** Milliseconds of execution, without waiting for people, accurate to a tenth. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  /** Wall clock, milliseconds. */
  readonly lastCallAt?: number;
  readonly lastErrorAt?: number;
  /** The refusal's code. */
  readonly lastErrorCode?: string;
}

/** @public */
export interface ActionStatistics extends CallStatistics {
  readonly tool: string;
  readonly action: string;
}

/** @public */
export interface AgentStatistics extends CallStatistics {
  readonly agent: string;
}

/**
 * How requests were decided.
 *
 * @public
 */
export interface DecisionStatistics {
  /** As they are, and after an edit. */
  readonly approved: number;
  readonly denied: number;
  readonly skipped: number;
  /** Milliseconds from the request to the decision of a person, accurate to a tenth. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
}

/** @public */
export interface DeciderStatistics extends DecisionStatistics {
  readonly decider: string;
}

/**
 * The counts of one minute, hour or day (UTC).
 *
 * @public
 */
export interface PeriodCounts {
  /** Its first moment: wall clock, milliseconds. */
  readonly at: number;
  readonly ok: number;
  readonly failed: number;
  readonly refused: number;
  readonly unknown: number;
  /** Arrivals that only got a preview. */
  readonly previewed: number;
  /** Calls for which a person was asked. */
  readonly asked: number;
}

/**
 * What was counted in a range of time, over restarts and all processes of a store.
 *
 * @public
 */
export interface Statistics {
  /** Wall clock, milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly tools: readonly ActionStatistics[];
  readonly agents: readonly AgentStatistics[];
  readonly decisions: DecisionStatistics & { readonly expired: number; readonly withdrawn: number };
  readonly deciders: readonly DeciderStatistics[];
  /** Oldest first. Those without calls are left out. */
  readonly periods: readonly PeriodCounts[];
  /** The last hour before `to`, if that is not longer ago than minutes are kept. Without regard to tool and agent. */
  readonly minutes: readonly PeriodCounts[];
}

const dayMs = 24 * periodMs.hour;

const rangeMembers: Readonly<Record<keyof StatisticsRange, Kind>> = {
  tenant: "a text",
  from: "a whole number from 0",
  to: "a whole number from 0",
  every: ["hour", "day"],
  tool: "a text",
  agent: "a text",
};

/** @throws RuntimeFault `request_invalid` */
export function checkStatisticsRange(range: StatisticsRange): void {
  checkMembers(range, { code: "request_invalid", what: "The range", members: rangeMembers, of: "statistics" });
  const { from, to } = range;
  if (from === undefined || to === undefined || from < to) return;
  const message = `\`from\` (${new Date(from).toISOString()}) is not before \`to\` (${new Date(to).toISOString()}); name an earlier one.`;
  throw new RuntimeFault("request_invalid", message);
}

/** Reads what a store has counted. */
export async function statisticsOf(store: Store, range: StatisticsRange, now: number): Promise<Statistics> {
  const { tenant = "default", to = now, tool, agent } = range;
  const given = range.from ?? to - dayMs;
  const from = given - (given % periodMs.hour);
  const { every = to - from > 8 * dayMs ? "day" : "hour" } = range;
  const until = range.to ?? now + 1; // what is counted in this millisecond too
  const within = { tenant, from, until, ...defined({ tool, agent }) };
  const rows = await store.statistics({
    ...within,
    period: "hour",
    by: ["tool", "action", "agent", "decider"],
  });
  const hours = await store.statistics({ ...within, period: "hour", by: ["at"] });
  const lastHour = { tenant, period: "minute", from: to - periodMs.hour, until } as const;
  const minutes = await store.statistics({ ...lastHour, by: ["at"] });
  const decided = rows.filter(({ decider, as }) => decider !== "" && isDecision(as));
  return {
    from,
    to,
    tools: parted(rows, ({ tool, action }) => JSON.stringify([tool, action]))
      .filter(([{ tool: name }]) => name !== "")
      .map(([{ tool: name, action }, some]) => ({ tool: name, action, ...callsIn(some) })),
    agents: parted(rows, (row) => row.agent).map(([{ agent: name }, some]) => ({ agent: name, ...callsIn(some) })),
    decisions: { ...decisionsIn(decided), expired: sumOf(rows, "expired"), withdrawn: sumOf(rows, "withdrawn") },
    deciders: parted(decided, (row) => row.decider).map(([{ decider }, some]) => ({ decider, ...decisionsIn(some) })),
    periods: periodsIn(hours, every === "day" ? dayMs : periodMs.hour),
    minutes: periodsIn(minutes, periodMs.minute),
  };
}

type Rows = readonly CountedCalls[];

/** Parts of rows with one key, each with its first row, sorted by key. */
function parted(rows: Rows, keyOf: (row: CountedCalls) => string): readonly (readonly [CountedCalls, Rows])[] {
  return [...Map.groupBy(rows, keyOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, [first, ...others]]) => (first === undefined ? [] : [[first, [first, ...others]] as const]));
}

function callsIn(rows: Rows): CallStatistics {
  const ran = rows.filter(({ as }) => as === "ok" || as === "failed" || as === "unknown");
  const failed = ran.filter(({ as }) => as !== "ok");
  const lastError = latestOf(failed);
  return {
    ...{ calls: total(ran), errors: total(failed), unknown: sumOf(rows, "unknown") },
    ...{ refused: sumOf(rows, "refused"), asked: sumOf(rows, "asked") },
    ...defined({
      ...{ p50Ms: percentile(ran, 0.5), p95Ms: percentile(ran, 0.95) },
      lastCallAt: latestOf(rows.filter(({ as }) => !isDecision(as)))?.lastAt,
      lastErrorAt: lastError?.lastAt,
      lastErrorCode: lastError?.code === "" ? undefined : lastError?.code,
    }),
  };
}

function decisionsIn(rows: Rows): DecisionStatistics {
  return {
    approved: sumOf(rows, "approved") + sumOf(rows, "modified"),
    ...{ denied: sumOf(rows, "denied"), skipped: sumOf(rows, "skipped") },
    ...defined({ p50Ms: percentile(rows, 0.5), p95Ms: percentile(rows, 0.95) }),
  };
}

/** A person decided the request; it was not withdrawn or revoked, and its time did not end. */
function isDecision(as: CountedAs): boolean {
  return as === "approved" || as === "modified" || as === "denied" || as === "skipped";
}

function periodsIn(rows: Rows, lengthMs: number): readonly PeriodCounts[] {
  return [...Map.groupBy(rows, ({ at }) => at - (at % lengthMs))]
    .sort(([a], [b]) => a - b)
    .map(([at, some]) => ({
      ...{ at, ok: sumOf(some, "ok"), failed: sumOf(some, "failed"), refused: sumOf(some, "refused") },
      ...{ unknown: sumOf(some, "unknown"), previewed: sumOf(some, "previewed"), asked: sumOf(some, "asked") },
    }))
    .filter(({ at: _, ...counts }) => Object.values(counts).some((count) => count > 0));
}

function sumOf(rows: Rows, as: CountedAs): number {
  return total(rows.filter((row) => row.as === as));
}

function total(rows: Rows): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}

function latestOf(rows: Rows): CountedCalls | undefined {
  return rows.reduce<CountedCalls | undefined>(
    (last, row) => (last && last.lastAt > row.lastAt ? last : row),
    undefined,
  );
}
