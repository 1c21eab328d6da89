import { messageOf } from "../core/fault.ts";
import type { StoreEntry } from "./store.ts";

export type Listener = (entries: readonly StoreEntry[]) => void;

/** Tells each committed batch to everyone, in order, also when a listener makes the next batch while it is told one. */
export class Followers {
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  readonly #log: (problem: string) => void;
  readonly #untold: (readonly StoreEntry[])[] = [];
  #telling = false;

  /** @param log throws nothing (core/harmless-log.ts): it would leave the others untold */
  constructor(log: (problem: string) => void) {
    this.#log = log;
  }

  add(listener: Listener): Disposable {
    const follower = { listener };
    this.#listeners.add(follower);
    return { [Symbol.dispose]: () => void this.#listeners.delete(follower) };
  }

  tell(entries: readonly StoreEntry[]): void {
    if (entries.length === 0 || this.#listeners.size === 0) return;
    if (this.#telling) {
      this.#untold.push(entries);
      return;
    }
    this.#telling = true;
    for (let next: readonly StoreEntry[] | undefined = entries; next !== undefined; next = this.#untold.shift()) {
      for (const { listener } of this.#listeners) this.#tellOne(listener, next);
    }
    this.#telling = false;
  }

  #tellOne(listener: Listener, entries: readonly StoreEntry[]): void {
    try {
      listener(entries);
    } catch (error) {
      this.#log(`A follower of the store threw: ${messageOf(error)}`);
    }
  }
}
