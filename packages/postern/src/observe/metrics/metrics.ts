/**
 * What Prometheus reads: counts of calls from the event stream, and gauges from the store, read at each scrape.
 *
 * Invariant: a call waits for nothing here, and a scrape reads nothing that grows with the past.
 * Next: call-counts.ts (the watcher), families.ts (every metric), render.ts (the text, by prom-client), open-metrics.ts.
 */
import type { Clock, Watcher } from "@postern/core";
import type { RequestCounts, Store, WaitingGroup } from "../../store/store.ts";
import type { CallCounts } from "./call-counts.ts";
import type { ProcessMeasures } from "./process-measures.ts";

/** @public */
export interface Metrics {
  /** The metrics in Prometheus' text format. */
  text(): Promise<string>;
  /** The media type of `text`. */
  readonly contentType: string;
}

export interface MetricsOptions {
  readonly clock: Clock;
  readonly store: Pick<Store, "counts" | "documents" | "groups" | "lost" | "measures">;
  readonly watch: (watcher: Watcher) => Disposable;
  readonly hasTool: (name: string) => boolean;
  /** Entries of the audit log. */
  readonly logSize: () => number;
  /** Undefined until the artifacts were counted. */
  readonly artifactBytes: () => number | undefined;
  readonly servers: () => readonly { readonly name: string; readonly status: string }[];
  readonly log: (problem: string) => void;
}

/** All that one scrape reads. */
export interface Scrape extends Pick<MetricsOptions, "logSize" | "servers" | "store"> {
  readonly calls: CallCounts;
  readonly process: ProcessMeasures;
  /** Wall clock, milliseconds. */
  readonly now: number;
  /** Undefined if the store has none, or could not be read. */
  readonly stored: Stored | undefined;
}

export interface Stored {
  readonly counts: RequestCounts;
  /** Waiting requests, by risk. */
  readonly waiting: readonly WaitingGroup[];
  readonly bytes: Readonly<Record<string, number>>;
  /** When the last checked backup was made: wall clock, milliseconds. */
  readonly backupAt: number | undefined;
}
