import { messageOf } from "@postern/core";
import { harmless } from "@postern/core/system";
import type { StoreEntry, StoreListener } from "./store.ts";

/** The listeners of `Store.follow`. Gives each committed batch to every listener, in order, also when a listener commits the next batch meanwhile. */
export class Followers {
  readonly #listeners = new Set<{ readonly listener: StoreListener }>();
  readonly #log: (problem: string) => void;
  readonly #pending: (readonly StoreEntry[])[] = [];
  #isNotifying = false;

  constructor(log: (problem: string) => void) {
    this.#log = harmless(log); // if it threw, the listeners after it would miss the batch
  }

  add(listener: StoreListener): Disposable {
    const follower = { listener };
    this.#listeners.add(follower);
    return { [Symbol.dispose]: () => void this.#listeners.delete(follower) };
  }

  /** Call it when the batch is committed, before the commit is answered. */
  notify(entries: readonly StoreEntry[]): void {
    if (entries.length === 0 || this.#listeners.size === 0) return;
    if (this.#isNotifying) {
      this.#pending.push(entries);
      return;
    }
    this.#isNotifying = true;
    for (let next: readonly StoreEntry[] | undefined = entries; next !== undefined; next = this.#pending.shift()) {
      for (const { listener } of this.#listeners) this.#notifyOne(listener, next);
    }
    this.#isNotifying = false;
  }

  #notifyOne(listener: StoreListener, entries: readonly StoreEntry[]): void {
    try {
      listener(entries);
    } catch (error) {
      this.#log(`A follower of the store threw: ${messageOf(error)}`);
    }
  }
}
