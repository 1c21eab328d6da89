import type { DurableEvent } from "../../calls/event.ts";
import type { ApprovalRecord, CallRecord } from "../../calls/records.ts";
import type { NewDocument, Won } from "../rules.ts";
import type { Committed } from "../store.ts";

export interface PendingCall {
  record: CallRecord;
  /** There is no row yet: what was claimed and settled before it was written is born finished. */
  readonly isNew: boolean;
}

const noApprovals: ReadonlyMap<string, ApprovalRecord> = new Map();
const noDocuments: ReadonlyMap<string, NewDocument> = new Map();
export const won: Committed = { won: true };

/**
 * What the next transaction writes, and so what is true before it: rows by their key, the last state of each. To take
 * a failed batch back is to forget it.
 */
export class Batch {
  readonly calls: Map<string, PendingCall> = new Map();
  readonly events: DurableEvent[] = [];
  writes = 0;
  /** Made when there is one: most batches have neither approvals nor documents. */
  #approvals: Map<string, ApprovalRecord> | undefined;
  #documents: Map<string, NewDocument> | undefined;
  #committed: PromiseWithResolvers<Committed> | undefined;
  #synced: PromiseWithResolvers<Committed> | undefined;

  get approvals(): ReadonlyMap<string, ApprovalRecord> {
    return this.#approvals ?? noApprovals;
  }

  get documents(): ReadonlyMap<string, NewDocument> {
    return this.#documents ?? noDocuments;
  }

  get isDurable(): boolean {
    return this.#synced !== undefined;
  }

  add({ before, call, approval, document }: Won, event: DurableEvent | undefined): void {
    this.writes += 1;
    if (event !== undefined) this.events.push(event);
    if (call !== undefined) {
      const pending = before === undefined ? undefined : this.calls.get(call.key);
      if (pending === undefined) this.calls.set(call.key, { record: call, isNew: before === undefined });
      else pending.record = call;
    }
    if (approval !== undefined) {
      this.#approvals ??= new Map();
      this.#approvals.set(approval.id, approval);
    }
    if (document !== undefined) {
      this.#documents ??= new Map();
      this.#documents.set(documentName(document.kind, document.id), document);
    }
  }

  committed(): Promise<Committed> {
    this.#committed ??= waiting();
    return this.#committed.promise;
  }

  synced(): Promise<Committed> {
    this.#synced ??= waiting();
    return this.#synced.promise;
  }

  resolveCommitted(): void {
    this.#committed?.resolve(won);
  }

  resolveSynced(): void {
    this.#synced?.resolve(won);
  }

  /** @returns whether anybody was told */
  reject(error: Error): boolean {
    this.#committed?.reject(error);
    this.#synced?.reject(error);
    return this.#committed !== undefined || this.#synced !== undefined;
  }
}

/** Both parts are in it whole: a name cannot be read in two ways. */
export function documentName(kind: string, id: string): string {
  return `${kind.length}:${kind}${id}`;
}

function waiting(): PromiseWithResolvers<Committed> {
  const waiter = Promise.withResolvers<Committed>();
  waiter.promise.catch(() => {}); // who commits hears it; a caller that does not wait must not end the process
  return waiter;
}
