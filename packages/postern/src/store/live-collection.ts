import { deepFrozen, newId, type StoreWrite } from "@postern/core";
import {
  Collection,
  type CollectionChange,
  type CollectionOptions,
  type Document,
  type Versioned,
} from "./collection.ts";
import type { Committed, Durability, Store } from "./store.ts";

export interface LiveOptions<Item> extends CollectionOptions<Item> {
  readonly store: Pick<Store, "commit" | "documents" | "follow">;
  /** Runs when the copy of a document becomes this. */
  readonly updated?: (item: Item, id: string) => void;
  /** Runs after `updated` if another process made the change. */
  readonly changedElsewhere?: (item: Item, id: string) => void;
  /** Runs when the copy of a document is gone because another process removed it, or left what cannot be read. */
  readonly removedElsewhere?: (id: string) => void;
}

/**
 * A collection with a copy of all its documents in memory, for data that a call needs.
 * Invariant: the copy follows the change feed of the store. A change of this process is in it when the feed announces
 * its event; a change of another process when the store announces the document, or with the next `get` or `change`.
 */
export class LiveCollection<Item> extends Collection<Item> {
  readonly #copies = new Map<string, Versioned<Item>>();
  readonly #updated: LiveOptions<Item>["updated"];
  readonly #removedElsewhere: LiveOptions<Item>["removedElsewhere"];
  /** What takes a change that is being written, by the id of the write. */
  readonly #underWay = new Map<string, () => void>();

  constructor(options: LiveOptions<Item>) {
    super(options);
    this.#updated = options.updated;
    this.#removedElsewhere = options.removedElsewhere;
    options.store.documents.follow?.(options.kind, (id, document) => {
      const known = this.#copies.get(id)?.version ?? 0;
      const { item } = document.version > known ? this.parsed(id, document) : { item: undefined };
      if (item !== undefined) options.changedElsewhere?.(item, id);
    });
    options.store.follow((entries) => {
      if (this.#underWay.size === 0) return;
      for (const { writeId } of entries) if (writeId !== undefined) this.#take(writeId);
    });
  }

  /** Before that, only requested documents are in memory. */
  async readAll(): Promise<this> {
    for (const id of await this.ids()) await this.load(id);
    return this;
  }

  /** Frozen, in the order in which this process read them. */
  get items(): readonly Item[] {
    return [...this.#copies.values()].flatMap(({ item }) => (item === undefined ? [] : [item]));
  }

  get size(): number {
    return this.#copies.size;
  }

  /** The copy in memory. */
  at(id: string): Item | undefined {
    return this.#copies.get(id)?.item;
  }

  /** Whether the document exists, even if it cannot be read. */
  has(id: string): boolean {
    return this.#copies.has(id);
  }

  /** For a document that another write committed. */
  applyWritten(id: string, version: number, item: Item): void {
    const copy = deepFrozen(structuredClone(item)); // lists return it
    this.#copies.set(id, { version, item: copy });
    this.#updated?.(copy, id);
  }

  protected override parsed(id: string, document: Document): Versioned<Item> {
    const known = this.#copies.get(id);
    if (known?.version === document.version) return known;
    const found = super.parsed(id, document);
    if (known !== undefined && known.version > found.version) return found; // read before a newer one was announced
    if (found.item !== undefined) this.applyWritten(id, found.version, found.item);
    else if (found.version > 0) this.#leaveOut(id, found);
    return this.#copies.get(id) ?? found;
  }

  #leaveOut(id: string, found: Versioned<Item>): void {
    const isNews = this.at(id) !== undefined;
    this.#copies.set(id, found);
    if (isNews) this.#removedElsewhere?.(id);
  }

  protected override put(id: string, expectedVersion: number, change: CollectionChange<Item>): Promise<boolean> {
    const onCommitted = (): void => {
      this.applyWritten(id, expectedVersion + 1, change.item);
      change.onCommitted?.();
    };
    return super.put(id, expectedVersion, { ...change, onCommitted });
  }

  protected override async commit(write: StoreWrite, durability: Durability, taken: () => void): Promise<Committed> {
    const writeId = newId("wrt");
    this.#underWay.set(writeId, taken);
    try {
      return await super.commit({ ...write, writeId }, durability, () => this.#take(writeId));
    } finally {
      this.#underWay.delete(writeId);
    }
  }

  /** Runs once: when the change feed announces the event, or when the store has answered. */
  #take(writeId: string): void {
    const taken = this.#underWay.get(writeId);
    this.#underWay.delete(writeId);
    taken?.();
  }
}
