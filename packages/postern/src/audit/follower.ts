import type { Store, StoreEntry } from "../store/store.ts";
import type { Tree } from "./tree.ts";

/**
 * Adds a store's committed entries to a tree. The store announces them, and the follower reads what was not announced.
 *
 * Invariant: entries enter the tree in their order and without gaps. If an entry is missing, the tree does not grow.
 */
export class LogFollower implements Disposable {
  readonly #tree: Tree;
  readonly #store: Pick<Store, "events" | "follow">;
  readonly #log: (problem: string, error?: unknown) => void;
  readonly #grown: () => void;
  #following: Disposable | undefined;
  /** The highest announced entry. If it is not below the tree's size, entries were missed and must be read. */
  #announced = -1;
  #isReading = false;
  #isStuck = false;

  /** @param grown called after each batch */
  constructor(
    tree: Tree,
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

  #take(entries: readonly StoreEntry[]): void {
    for (const { seq, body } of entries) {
      this.#announced = Math.max(this.#announced, seq);
      if (seq === this.#tree.size) this.#tree.append(body);
    }
    if (this.#announced < this.#tree.size || this.#isReading || this.#isStuck) this.#grown();
    else this.#read().then(this.#grown, (error: unknown) => this.#log("The audit log could not be read", error));
  }

  /** Reads what was missed. */
  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      do {
        const before = this.#tree.size;
        for await (const { seq, body } of this.#store.events({ after: before - 1 })) {
          if (seq !== this.#tree.size) break;
          this.#tree.append(body);
        }
        this.#isStuck = this.#tree.size === before && this.#announced >= before;
      } while (this.#announced >= this.#tree.size && !this.#isStuck);
    } finally {
      this.#isReading = false;
    }
    if (this.#isStuck) this.#log(`The audit log has no entry ${this.#tree.size}; nothing after it can be signed.`);
  }
}
