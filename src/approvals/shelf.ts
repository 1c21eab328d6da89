/**
 * One kind of document of the approvals, in memory as it is in the store: grants and delegations are few, and looked at
 * while a call waits.
 *
 * Invariant: what is here was committed, with its event. Another process may have written since: `fresh` asks the store.
 */
import type { Actor } from "../calls/actor.ts";
import type { Clock } from "../calls/clock.ts";
import type { NotedEvent } from "../calls/event.ts";
import { RuntimeFault } from "../calls/fault.ts";
import { newTraceId } from "../calls/ids.ts";
import { deepFrozen, type Json, type JsonObject } from "../calls/json.ts";
import type { Along } from "../calls/records.ts";
import { commitAndTake, type Store } from "../stores/store.ts";

export interface ShelfOptions {
  readonly store: Pick<Store, "commit" | "documents" | "follow">;
  readonly clock: Clock;
  readonly policyVersion: string;
}

interface Held<Item> {
  readonly version: number;
  readonly item: Item;
}

export interface Noted extends Required<Actor> {
  readonly type: string;
  readonly summary: string;
  readonly data: JsonObject;
}

/** Other writers may win a few times in a row; more than this means that something else is wrong. */
const mostTries = 20;

export class Shelf<Item extends { readonly id: string }> {
  readonly #options: ShelfOptions;
  readonly #kind: string;
  readonly #read: (body: Json) => Item;
  readonly #items = new Map<string, Held<Item>>();

  private constructor(kind: string, read: (body: Json) => Item, options: ShelfOptions) {
    this.#kind = kind;
    this.#read = read;
    this.#options = options;
  }

  static async open<Item extends { readonly id: string }>(
    kind: string,
    read: (body: Json) => Item,
    options: ShelfOptions,
  ): Promise<Shelf<Item>> {
    const shelf = new Shelf(kind, read, options);
    for (const id of await options.store.documents.list(kind, "")) await shelf.fresh(id);
    return shelf;
  }

  get items(): readonly Item[] {
    return [...this.#items.values()].map(({ item }) => item);
  }

  get(id: string): Item | undefined {
    return this.#items.get(id)?.item;
  }

  /** As it stands in the store now. */
  async fresh(id: string): Promise<Item | undefined> {
    const found = await this.#options.store.documents.get(this.#kind, id);
    if (found === undefined) return undefined;
    const item = this.#read(found.body);
    return this.#keep(found.version, item);
  }

  /** A new one, as part of another write; when that has won, it `took`. */
  along({ id }: Item, body: JsonObject, noted: Noted): Along {
    return { kind: this.#kind, id, body, event: this.#event(noted) };
  }

  took(item: Item): void {
    this.#keep(1, item);
  }

  /** Its own copy, frozen: lists hand it out. */
  #keep(version: number, given: Item): Item {
    const item = deepFrozen(structuredClone(given));
    this.#items.set(item.id, { version, item });
    return item;
  }

  async add(item: Item, body: JsonObject, noted: Noted): Promise<void> {
    const { won } = await this.#commit({ id: item.id, body, expectedVersion: 0 }, noted, () => this.took(item));
    if (!won) throw new RuntimeFault("document_taken", `There is a ${this.#kind} \`${item.id}\` already.`);
  }

  /** @param next what it becomes; undefined: it stays. Answers what it is then. */
  async change(
    id: string,
    next: (item: Item) => { readonly item: Item; readonly body: JsonObject; readonly noted?: Noted } | undefined,
  ): Promise<Item | undefined> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const held = this.#items.get(id);
      if (held === undefined) return undefined;
      const change = next(held.item);
      if (change === undefined) return held.item;
      const { item, body, noted } = change;
      const take = (): void => void this.#keep(held.version + 1, item);
      const { won } = await this.#commit({ id, body, expectedVersion: held.version }, noted, take);
      if (won) return item;
      await this.fresh(id);
    }
    throw new RuntimeFault(
      "document_contended",
      `The ${this.#kind} \`${id}\` is being changed all the time; try again.`,
    );
  }

  async #commit(
    document: { readonly id: string; readonly body: Json; readonly expectedVersion: number },
    noted: Noted | undefined,
    take: () => void,
  ): Promise<{ won: boolean }> {
    const event = noted && this.#event(noted);
    const write = { write: "document", kind: this.#kind, ...document, ...(event && { event }) } as const;
    return commitAndTake(this.#options.store, write, noted === undefined ? "committed" : "synced", take);
  }

  #event(noted: Noted): NotedEvent {
    const { clock, policyVersion } = this.#options;
    return { moment: "noted", at: clock.now(), traceId: newTraceId(), policyVersion, outcome: "success", ...noted };
  }
}
