/** A store below its port: everything that is in it, to copy it into another one. */
import type { ApprovalRecord, CallRecord } from "@postern/core";
import type { CountedCalls, Period } from "./statistics.ts";
import type { StoreEntry } from "./store.ts";

export interface CopiedDocument {
  readonly kind: string;
  readonly id: string;
  readonly version: number;
  /** JSON text. */
  readonly body: string;
}

export interface CopiedStatistic extends CountedCalls {
  readonly period: Period;
}

/** Some rows, in the order in which they are read: calls, requests, documents, statistics, entries. */
export interface StoreRows {
  readonly calls?: readonly CallRecord[];
  readonly approvals?: readonly ApprovalRecord[];
  readonly documents?: readonly CopiedDocument[];
  readonly statistics?: readonly CopiedStatistic[];
  readonly entries?: readonly StoreEntry[];
}

/** A store below its port: everything that is in it can be read, and an empty one takes it. */
export interface OpenRows extends AsyncDisposable {
  /** Everything, some rows at a time. */
  read(): AsyncIterable<StoreRows>;
  /** Adds rows. */
  add(rows: StoreRows): Promise<void>;
  /** Makes the store last. A new store that is closed without it is as if it had not been opened. */
  keep(): Promise<void>;
}
