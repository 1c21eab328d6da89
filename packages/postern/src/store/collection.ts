/**
 * Versioned documents of one kind in a store: grants, pins, alarms, accounts, switches.
 *
 * Invariant: each change reads the newest version and writes the next one by compare-and-swap, together with its event.
 * If another writer was faster, the change is made again from what that writer left.
 * Next: store.ts (`Documents` and the `document` write), live-collection.ts (the same with a copy in memory).
 */
import { type DurableEvent, type Json, RuntimeFault, type StoreWrite } from "@postern/core";
import type { Committed, Durability, Store } from "./store.ts";

export interface CollectionOptions<Item> {
  readonly store: Pick<Store, "commit" | "documents">;
  readonly kind: string;
  /** The owner decides what an unreadable body means: it throws, or makes something of it. */
  readonly read: (body: Json, id: string, version: number) => Item;
  /** Without it, the body is the item as plain JSON. */
  readonly write?: (item: Item, id: string) => Json;
}

/** What a document becomes. */
export interface CollectionChange<Item> {
  readonly item: Item;
  readonly event?: DurableEvent | undefined;
  /** Without it, a change with an event is `synced`, any other `committed`. */
  readonly durability?: Durability;
  /** Runs once when the change is committed. */
  readonly onCommitted?: () => void;
}

export type Changed<Item> =
  | { readonly changed: true; readonly item: Item }
  | { readonly changed: false; readonly item: Item | undefined };

/** Makes the change, or returns undefined if the document stays unchanged. Runs again after a lost race. */
export type Next<Item> = (
  item: Item | undefined,
) => CollectionChange<Item> | undefined | Promise<CollectionChange<Item> | undefined>;

/** A stored document. A body of null means that the document was removed. */
export interface Document {
  readonly version: number;
  readonly body: Json;
}

/** Version 0 means that there is no document yet. */
export interface Versioned<Item> {
  readonly version: number;
  readonly item: Item | undefined;
}

/** Other writers may win a few times in a row. */
const mostTries = 20;

export class Collection<Item> {
  protected readonly options: CollectionOptions<Item>;
  /** The last change of each document that is under way: here one follows the other. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(options: CollectionOptions<Item>) {
    this.options = options;
  }

  /** The item in the store. Returns undefined if there is none. */
  async get(id: string): Promise<Item | undefined> {
    return (await this.load(id)).item;
  }

  /** Sorted by their characters. */
  ids(prefix = ""): Promise<readonly string[]> {
    return this.options.store.documents.list(this.options.kind, prefix);
  }

  /**
   * Resolves to the document after the change.
   *
   * @throws RuntimeFault `document_contended` if other writers win too often, and what `next` and the store throw
   */
  change(id: string, next: Next<Item>): Promise<Changed<Item>> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    const made = before.then(() => untilWon(`The ${this.options.kind} \`${id}\` is`, () => this.#attempt(id, next)));
    const turn: Promise<void> = made.then(ignore, ignore).then(() => {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    });
    this.#turns.set(id, turn);
    return made;
  }

  /** Frees the space of a document. Its version stays, so that an older writer loses. */
  async remove(id: string): Promise<void> {
    const { store, kind } = this.options;
    const found = await store.documents.get(kind, id);
    if (found === undefined || found.body === null) return;
    await store.commit({ write: "document", kind, id, body: null, expectedVersion: found.version }, "committed");
  }

  protected async load(id: string): Promise<Versioned<Item>> {
    const { store, kind } = this.options;
    return this.parsed(id, (await store.documents.get(kind, id)) ?? { version: 0, body: null });
  }

  protected parsed(id: string, { version, body }: Document): Versioned<Item> {
    return { version, item: body === null ? undefined : this.options.read(body, id, version) };
  }

  /** Resolves to whether it won. */
  protected async put(id: string, expectedVersion: number, change: CollectionChange<Item>): Promise<boolean> {
    const { kind, write = plainJson } = this.options;
    const { item, event, durability = event === undefined ? "committed" : "synced", onCommitted = ignore } = change;
    const document = { write: "document", kind, id, body: write(item, id), expectedVersion } as const;
    const { won } = await this.commit(event ? { ...document, event } : document, durability, onCommitted);
    return won;
  }

  protected async commit(write: StoreWrite, durability: Durability, taken: () => void): Promise<Committed> {
    const committed = await this.options.store.commit(write, durability);
    if (committed.won) taken();
    return committed;
  }

  async #attempt(id: string, next: Next<Item>): Promise<Changed<Item> | undefined> {
    const { version, item } = await this.load(id);
    const change = await next(item);
    if (change === undefined) return { changed: false, item };
    return (await this.put(id, version, change)) ? { changed: true, item: change.item } : undefined;
  }
}

/**
 * For changes that choose their document themselves.
 *
 * @param what `The sessions are`
 * @param attempt returns undefined if another writer was faster
 * @throws RuntimeFault `document_contended`
 */
export async function untilWon<T>(what: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const done = await attempt();
    if (done !== undefined) return done;
  }
  throw new RuntimeFault("document_contended", `${what} being changed by others all the time; try again.`);
}

/** Leaves out members that are undefined. */
export function plainJson(item: unknown): Json {
  return JSON.parse(JSON.stringify(item)) as Json; // JSON.parse makes only JSON
}

function ignore(): void {}
