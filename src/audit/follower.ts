import type { Store, StoreEntry } from "../store/store.ts";

/** What grows with the store; its size is where it goes on. */
export interface Growing {
  readonly size: number;
  append(body: string): void;
}

/**
 * Keeps a tree level with a store's committed entries: told of them by the store, and reading what it was not told.
 *
 * Invariant: entries enter the tree in their order and without gaps; where one is missing the tree stays.
 */
export class LogFollower implements Disposable {
  readonly #tree: Growing;
  readonly #store: Pick<Store, "events" | "follow">;
  readonly #log: (problem: string, error?: unknown) => void;
  readonly #grown: () => void;
  #following: Disposable | undefined;
  /** The highest entry the store told of. Not below the tree's size: some were missed, and are read. */
  #told = -1;
  #reading = false;
  #stuck = false;

  /** @param grown called after each batch */
  constructor(
    tree: Growing,
    store: Pick<Store, "events" | "follow">,
    grown: () => void,
    log: (problem: string, error?: unknown) => void,
  ) {
    this.#tree = tree;
    this.#store = store;
    this.#grown = grown;
    this.#log = log;
  }

  /** Resolves when the tree has all that is committed. */
  async start(): Promise<void> {
    this.#following = this.#store.follow((entries) => this.#take(entries));
    await this.#read();
    this.#grown();
  }

  [Symbol.dispose](): void {
    this.#following?.[Symbol.dispose]();
  }

  /** The hot path. */
  #take(entries: readonly StoreEntry[]): void {
    for (const { seq, body } of entries) {
      this.#told = Math.max(this.#told, seq);
      if (seq === this.#tree.size) this.#tree.append(body);
    }
    if (!this.catchUp()) this.#grown();
  }

  /** Reads what was missed, when something was. */
  catchUp(): boolean {
    if (this.#told < this.#tree.size || this.#reading || this.#stuck) return false;
    this.#read().then(this.#grown, (error: unknown) => this.#log("The audit log could not be read", error));
    return true;
  }

  async #read(): Promise<void> {
    this.#reading = true;
    try {
      do {
        const before = this.#tree.size;
        for await (const { seq, body } of this.#store.events({ after: before - 1 })) {
          if (seq !== this.#tree.size) break;
          this.#tree.append(body);
        }
        this.#stuck = this.#tree.size === before && this.#told >= before;
      } while (this.#told >= this.#tree.size && !this.#stuck);
    } finally {
      this.#reading = false;
    }
    if (this.#stuck) {
      this.#log(`The audit log has no entry ${this.#tree.size}; nothing after it can be signed.`);
    }
  }
}
