import type { DurableEvent } from "../../calls/event.ts";
import type { ApprovalRecord, CallRecord } from "../../calls/records.ts";
import type { NewDocument, Won } from "../rules.ts";
import type { Committed, Entry, Spell } from "../store.ts";

export interface PendingCall {
  record: CallRecord;
  /** There is no row yet: what was claimed and settled before it was written is born finished. */
  readonly isNew: boolean;
}

const noApprovals: ReadonlyMap<string, ApprovalRecord> = new Map();
const noDocuments: ReadonlyMap<string, NewDocument> = new Map();
/** So many calls are looked through. */
const few = 4;
export const won: Committed = { won: true };

/**
 * What the next transaction writes, and so what is true before it: rows by their key, the last state of each. To take
 * a failed batch back is to forget it.
 */
export class Batch {
  /** In the order they came. */
  readonly calls: PendingCall[] = [];
  /** Made when there are many: few are found faster without. */
  #byKey: Map<string, PendingCall> | undefined;
  readonly events: DurableEvent[] = [];
  /** Of those events that were told of, as they are kept. */
  readonly spelled: string[] = [];
  /** Of each event, when it was spelled before it came. */
  readonly #beforehand: (string | undefined)[] = [];
  writes = 0;
  /** So many of them were answered before they are written. */
  answered = 0;
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

  /** By somebody who has no answer yet. */
  get isAwaited(): boolean {
    return this.#committed !== undefined || this.isDurable;
  }

  /** @param spelled the event as it will be kept, when that is known already */
  add({ before, call, approval, document }: Won, event: DurableEvent | undefined, spelled?: string): void {
    this.writes += 1;
    if (event !== undefined) this.tells(event, spelled);
    if (call !== undefined) {
      const pending = before === undefined ? undefined : this.#pending(call.key);
      if (pending === undefined) this.#put({ record: call, isNew: before === undefined });
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

  /** One more event, of what was added last. */
  tells(event: DurableEvent, spelled: string | undefined): void {
    this.events.push(event);
    this.#beforehand.push(spelled);
  }

  /**
   * The events that nobody was told of yet; from then on they count as told.
   *
   * @param seq the place of the batch's first event
   * @throws what `spell` throws
   */
  tell(seq: number, spell: Spell): readonly Entry[] {
    const { events, spelled } = this;
    const entries: Entry[] = [];
    for (let event = events[spelled.length]; event !== undefined; event = events[spelled.length]) {
      const own = this.#beforehand[spelled.length] ?? spell(event);
      entries.push({ seq: seq + spelled.length, body: own, event });
      spelled.push(own);
    }
    return entries;
  }

  call(key: string): CallRecord | undefined {
    return this.#pending(key)?.record;
  }

  #put(pending: PendingCall): void {
    this.calls.push(pending);
    if (this.#byKey !== undefined) this.#byKey.set(pending.record.key, pending);
    else if (this.calls.length > few) this.#byKey = new Map(this.calls.map((call) => [call.record.key, call]));
  }

  #pending(key: string): PendingCall | undefined {
    return this.#byKey === undefined ? this.calls.find(({ record }) => record.key === key) : this.#byKey.get(key);
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
      waiting?.promise.catch(() => {}); // who commits hears it; a caller that does not wait must not end the process
      waiting?.reject(error);
    }
  }
}

/** Both parts are in it whole: a name cannot be read in two ways. */
export function documentName(kind: string, id: string): string {
  return `${kind.length}:${kind}${id}`;
}
