import type { ApprovalRecord, CallRecord, DurableEvent } from "@postern/core";
import type { NewDocument, WonWrite } from "../rules.ts";
import { StatisticRows } from "../statistics.ts";
import type { Committed, StoreEntry } from "../store.ts";

export interface PendingCall {
  readonly record: CallRecord;
  /** There is no row yet. A call that is claimed and settled in one batch is inserted once, in its last state. */
  readonly isNew: boolean;
}

/** An event and its stored body. */
export interface NewEntry extends Omit<StoreEntry, "seq"> {
  readonly event: DurableEvent;
}

export const won: Committed = { won: true };

/**
 * The next transaction: the last state of each row, and the events in order. A failed batch is dropped as a whole.
 */
export class WriteBatch {
  readonly calls: Map<string, PendingCall> = new Map();
  readonly approvals: Map<string, ApprovalRecord> = new Map();
  readonly documents: Map<string, NewDocument> = new Map();
  readonly entries: NewEntry[] = [];
  readonly statistics: StatisticRows = new StatisticRows();
  writes = 0;
  /** Writes that were answered before they are written. */
  answered = 0;
  /** When its transaction began: monotonic, milliseconds. Undefined before, and for a batch that only waits for a sync. */
  beganAt: number | undefined;
  #committed: PromiseWithResolvers<Committed> | undefined;
  #synced: PromiseWithResolvers<Committed> | undefined;

  get isDurable(): boolean {
    return this.#synced !== undefined;
  }

  add({ before, call, approval, document }: WonWrite, entries: readonly NewEntry[]): void {
    this.writes += 1;
    this.entries.push(...entries);
    if (call !== undefined) {
      const isNew = this.calls.get(call.key)?.isNew ?? before === undefined;
      this.calls.set(call.key, { record: call, isNew });
    }
    if (approval !== undefined) this.approvals.set(approval.id, approval);
    if (document !== undefined) this.documents.set(documentName(document.kind, document.id), document);
  }

  committed(): Promise<Committed> {
    this.#committed ??= Promise.withResolvers();
    return this.#committed.promise;
  }

  synced(): Promise<Committed> {
    this.#synced ??= Promise.withResolvers();
    return this.#synced.promise;
  }

  resolveCommitted(): void {
    this.#committed?.resolve(won);
  }

  resolveSynced(): void {
    this.#synced?.resolve(won);
  }

  reject(error: Error): void {
    for (const waiting of [this.#committed, this.#synced]) {
      waiting?.promise.catch(() => {}); // a rejection without a waiting caller must not end the process
      waiting?.reject(error);
    }
  }
}

/** The length makes it unambiguous. */
export function documentName(kind: string, id: string): string {
  return `${kind.length}:${kind}${id}`;
}
