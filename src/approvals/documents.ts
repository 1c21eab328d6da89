import type { Actor } from "../core/actor.ts";
import type { Clock } from "../core/clock.ts";
import type { NotedEvent } from "../core/event.ts";
import { RuntimeFault } from "../core/fault.ts";
import { newTraceId } from "../core/ids.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { AddedDocument } from "../core/records.ts";
import { plainJson } from "../store/collection.ts";
import { LiveCollection } from "../store/live-collection.ts";
import type { Store } from "../store/store.ts";

export interface RecordedCollectionOptions {
  readonly store: Pick<Store, "commit" | "documents" | "follow">;
  readonly clock: Clock;
  readonly policyVersion: string;
}

export interface DocumentNote extends Required<Actor> {
  readonly type: string;
  readonly summary: string;
  readonly data: JsonObject;
}

/** The grants or the delegations, each change with its event. */
export class RecordedCollection<Item extends { readonly id: string }> {
  readonly #options: RecordedCollectionOptions;
  readonly #kind: string;
  readonly #collection: LiveCollection<Item>;

  private constructor(kind: string, collection: LiveCollection<Item>, options: RecordedCollectionOptions) {
    this.#kind = kind;
    this.#collection = collection;
    this.#options = options;
  }

  static async open<Item extends { readonly id: string }>(
    kind: string,
    read: (body: Json) => Item,
    options: RecordedCollectionOptions,
  ): Promise<RecordedCollection<Item>> {
    return new RecordedCollection(
      kind,
      await new LiveCollection({ kind, read, store: options.store }).readAll(),
      options,
    );
  }

  get items(): readonly Item[] {
    return this.#collection.items;
  }

  get(id: string): Item | undefined {
    return this.#collection.at(id);
  }

  /** The item in the store now. */
  fresh(id: string): Promise<Item | undefined> {
    return this.#collection.get(id);
  }

  /** Adds a document to another write. When that write has won, call `applyWritten`. */
  addedDocument(item: Item, noted: DocumentNote): AddedDocument {
    return { kind: this.#kind, id: item.id, body: plainJson(item), event: this.#event(noted) };
  }

  applyWritten(item: Item): void {
    this.#collection.applyWritten(item.id, 1, item);
  }

  /** @throws RuntimeFault `internal` if the id exists */
  async add(item: Item, noted: DocumentNote): Promise<void> {
    const event = this.#event(noted);
    const { changed } = await this.#collection.change(item.id, (before) =>
      before === undefined ? { item, event } : undefined,
    );
    if (!changed) throw new RuntimeFault("internal", `There is a ${this.#kind} \`${item.id}\` already.`);
  }

  /**
   * Resolves to the changed item, or to undefined if there is none.
   *
   * @param next returns undefined if nothing changes
   */
  async change(
    id: string,
    next: (item: Item) => { readonly item: Item; readonly noted?: DocumentNote } | undefined,
  ): Promise<Item | undefined> {
    const { item } = await this.#collection.change(id, (before) => {
      const change = before && next(before);
      return change && { item: change.item, event: change.noted && this.#event(change.noted) };
    });
    return item;
  }

  #event(noted: DocumentNote): NotedEvent {
    const { clock, policyVersion } = this.#options;
    return { moment: "noted", at: clock.now(), traceId: newTraceId(), policyVersion, outcome: "success", ...noted };
  }
}
