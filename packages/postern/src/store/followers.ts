import { messageOf } from "@postern/core";
import type { StoreEntry } from "./store.ts";

export type Listener = (entries: readonly StoreEntry[]) => void;

/** Gives each committed batch to every listener, in order, also when a listener commits the next batch meanwhile. */
export class Followers {
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  readonly #log: (problem: string) => void;
  readonly #pending: (readonly StoreEntry[])[] = [];
  #isNotifying = false;

  /** @param log must not throw (core/harmless-log.ts): the listeners after it would miss the batch */
  constructor(log: (problem: string) => void) {
    this.#log = log;
  }

  add(listener: Listener): Disposable {
    const follower = { listener };
    this.#listeners.add(follower);
    return { [Symbol.dispose]: () => void this.#listeners.delete(follower) };
  }

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

  #notifyOne(listener: Listener, entries: readonly StoreEntry[]): void {
    try {
      listener(entries);
    } catch (error) {
      this.#log(`A follower of the store threw: ${messageOf(error)}`);
    }
  }
}
