import type { ApprovalRecord, CallRecord, Clock, Json } from "@postern/core";
import { answeringRow, type EqualCall } from "../equal-calls.ts";
import { leftUnknownBy, type StoredRows } from "../rules.ts";
import { documentName, type WriteBatch } from "./batch.ts";
import type { Tables } from "./tables.ts";

export interface CurrentRowsOptions {
  readonly incarnation: string;
  readonly clock: Clock;
  readonly tables: Tables;
  /** The batch that is not written yet. */
  readonly pending: () => WriteBatch;
}

/** The rows as they are now: the pending batch, then the open calls, then the tables. No other process writes them (open.ts locks the file). */
export class CurrentRows implements StoredRows {
  readonly incarnation: string;
  readonly #options: CurrentRowsOptions;
  /** Calls that were claimed here and have not ended. They are written, or will be; reading them again would cost most of a settle. */
  readonly #open = new Map<string, CallRecord>();

  constructor(options: CurrentRowsOptions) {
    this.incarnation = options.incarnation;
    this.#options = options;
  }

  now(): number {
    return this.#options.clock.now();
  }

  call(key: string): CallRecord | undefined {
    return this.#pending.calls.get(key)?.record ?? this.#open.get(key) ?? this.#options.tables.callByKey(key);
  }

  /** Takes note of a row that a write has changed. */
  changed(row: CallRecord): void {
    if (row.state === "attempted") this.#open.set(row.key, row);
    else this.#open.delete(row.key);
  }

  /** A batch could not be written: what it claimed is in no table. */
  forget(): void {
    this.#open.clear();
  }

  /** Finds a call by its key, by the id of its first arrival, or by the id of the arrival that left it unknown. */
  callNamed(name: string): CallRecord | undefined {
    const found = this.call(name);
    if (found !== undefined) return found;
    const isNamed = (record: CallRecord): boolean => record.call.id === name || leftUnknownBy(record) === name;
    for (const { record } of this.#pending.calls.values()) if (isNamed(record)) return record;
    const { tables } = this.#options;
    const written = tables.callById(name) ?? tables.callLeftBy(name);
    const current = written && this.call(written.key);
    return current && isNamed(current) ? current : undefined;
  }

  answering(call: EqualCall): CallRecord | undefined {
    const { calls } = this.#pending;
    const { match } = call;
    const now = this.now();
    const found = this.#options.tables.answering(match, now).filter(({ key }) => !calls.has(key));
    for (const { record } of calls.values()) if (record.match === match) found.push(record);
    return answeringRow(call, found, { now, approval: (id) => this.approval(id) });
  }

  approval(id: string): ApprovalRecord | undefined {
    return this.#pending.approvals.get(id) ?? this.#options.tables.approval(id);
  }

  version(kind: string, id: string): number {
    return this.document(kind, id)?.version ?? 0;
  }

  document(kind: string, id: string): { readonly version: number; readonly body: Json } | undefined {
    return this.#pending.documents.get(documentName(kind, id)) ?? this.#options.tables.document(kind, id);
  }

  get #pending(): WriteBatch {
    return this.#options.pending();
  }
}
