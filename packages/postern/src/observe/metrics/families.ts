import { risks } from "@postern/core";
import type { Timings } from "../../system/timings.ts";
import { otherLabel } from "./call-counts.ts";
import type { Scrape } from "./metrics.ts";

export interface Sample {
  /** What follows the name of the family: `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Every sample of one name. */
export interface MetricFamily {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  /** Returns none if it is not known. */
  readonly read: (scrape: Scrape) => readonly Sample[];
}

/** So many servers have a label of their own, in the order of the configuration. */
const mostServers = 100;

/** Every metric. docs/reference/metrics.md is checked against these. */
export const families: Readonly<Record<string, MetricFamily>> = {
  postern_calls_total: {
    type: "counter",
    help: "Calls that have left, by how they ended and by the credential.",
    read: ({ calls }) =>
      [...calls.tools].flatMap(([tool, { left }]) =>
        [...left].flatMap(([outcome, byVia]) =>
          [...byVia].map(([via, value]) => ({ labels: { tool, outcome, via }, value })),
        ),
      ),
  },
  postern_call_seconds: {
    type: "histogram",
    help: "Seconds that tools ran, without the wait for people.",
    read: ({ calls }) =>
      [...calls.tools].flatMap(([tool, { executed }]) => (executed.count === 0 ? [] : histogram(executed, { tool }))),
  },
  postern_refusals_total: {
    type: "counter",
    help: "Calls that ended with a refusal, by its code.",
    read: ({ calls }) => byLabel("code", calls.refusals),
  },
  postern_decisions_total: {
    type: "counter",
    help: "Approval requests that ended, by how.",
    read: ({ calls }) => byLabel("as", calls.decisions),
  },
  postern_approvals_waiting: {
    type: "gauge",
    help: "Approval requests that wait for a person.",
    read: ({ stored }) =>
      stored === undefined
        ? []
        : risks.map((risk) => ({
            labels: { risk },
            value: stored.waiting.find((group) => group.risk === risk)?.waiting ?? 0,
          })),
  },
  postern_approvals_oldest_seconds: {
    type: "gauge",
    help: "How long the oldest request has waited; 0 if none waits.",
    read: ({ stored, now }) => {
      if (stored === undefined) return [];
      return one(Math.max(0, ...stored.waiting.map(({ oldestAt }) => now - oldestAt)) / 1000);
    },
  },
  postern_outcomes_unknown: {
    type: "gauge",
    help: "Calls whose outcome is unknown and not settled.",
    read: ({ stored }) => one(stored?.counts.unknownCalls),
  },
  postern_store_commit_seconds: {
    type: "histogram",
    help: "Seconds of the store's transactions, with their sync if a caller waited for it.",
    read: ({ store }) => (store.measures?.commits === undefined ? [] : histogram(store.measures.commits, {})),
  },
  postern_store_conflicts_total: {
    type: "counter",
    help: "Writes that lost against another write.",
    read: ({ store }) => one(store.measures?.conflicts),
  },
  postern_store_lost_total: {
    type: "counter",
    help: "Writes that were answered and then could not be written.",
    read: ({ store }) => one(store.lost),
  },
  postern_store_bytes: {
    type: "gauge",
    help: "Bytes on disk, by what they hold.",
    read: ({ stored }) => byLabel("kind", Object.entries(stored?.bytes ?? {})),
  },
  postern_audit_write_failures_total: {
    type: "counter",
    help: "Calls that were refused because their record could not be written.",
    read: ({ calls }) => one(calls.unrecorded),
  },
  postern_log_size: {
    type: "gauge",
    help: "Entries of the audit log.",
    read: ({ logSize }) => one(logSize()),
  },
  postern_upstream_up: {
    type: "gauge",
    help: "1 if the server is connected, or starts when it is called; else 0.",
    read: ({ servers }) => {
      const up = new Map<string, number>();
      for (const [i, { name, status }] of servers().entries()) {
        const label = i < mostServers ? name : otherLabel;
        const isUp = status === "connected" || status === "idle";
        up.set(label, Math.min(up.get(label) ?? 1, Number(isUp)));
      }
      return byLabel("server", up);
    },
  },
  postern_budget_held: {
    type: "gauge",
    help: "Calls that run or wait: each holds a place of its session's budget.",
    read: ({ calls }) => one(calls.inFlight),
  },
  postern_backup_age_seconds: {
    type: "gauge",
    help: "Seconds since the last checked backup; missing if there was none.",
    read: ({ stored, now }) => one(stored?.backupAt && Math.max(0, now - stored.backupAt) / 1000),
  },
  process_resident_memory_bytes: {
    type: "gauge",
    help: "Memory of the process.",
    read: ({ process }) => one(process.residentBytes),
  },
  process_cpu_seconds_total: {
    type: "counter",
    help: "Processor time of the process.",
    read: ({ process }) => one(process.cpuSeconds),
  },
  nodejs_eventloop_lag_p99_seconds: {
    type: "gauge",
    help: "99th percentile of how long the event loop was held up, since the last scrape.",
    read: ({ process }) => one(process.takeLagSeconds()),
  },
};

function one(value: number | undefined): readonly Sample[] {
  return value === undefined ? [] : [{ labels: {}, value }];
}

function byLabel(label: string, counts: Iterable<readonly [string, number]>): readonly Sample[] {
  return Array.from(counts, ([name, value]) => ({ labels: { [label]: name }, value }));
}

function histogram({ bounds, counts, sumSeconds, count }: Timings, labels: Sample["labels"]): readonly Sample[] {
  let below = 0;
  const buckets = [...bounds.map(String), "+Inf"].map((le, i) => {
    below += counts[i] ?? 0;
    return { suffix: "_bucket", labels: { ...labels, le }, value: below };
  });
  return [...buckets, { suffix: "_sum", labels, value: sumSeconds }, { suffix: "_count", labels, value: count }];
}
