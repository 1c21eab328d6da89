import type { DatabaseSync, StatementSync } from "node:sqlite";

/**
 * Where a call is whose key is not its own id: keys that callers chose, and those of a script's children. An arrival that
 * left its call unknown stands among them by its id, which is nobody's key.
 */
export interface Keys {
  find(key: string): number | undefined;
  put(key: string, number: number): void;
  /** What was put since was committed. */
  kept(): void;
  /** It was rolled back. */
  undo(): void;
}

/** In the file, where the next process finds them. */
export class TableKeys implements Keys {
  readonly #find: StatementSync;
  readonly #put: StatementSync;

  constructor(database: DatabaseSync) {
    this.#find = database.prepare("select number from call_key where key = ?");
    this.#put = database.prepare("insert or ignore into call_key values (?, ?)");
  }

  find(key: string): number | undefined {
    const number = this.#find.get(key)?.["number"];
    return number === undefined ? undefined : Number(number);
  }

  put(key: string, number: number): void {
    this.#put.get(key, number);
  }

  kept(): void {}

  undo(): void {} // the transaction's own
}

/** For a store that ends with the process: an index over random keys in SQLite's memory slows down as it grows. */
export class MapKeys implements Keys {
  readonly #numbers = new Map<string, number>();
  #unsure: string[] = [];

  find(key: string): number | undefined {
    return this.#numbers.get(key);
  }

  put(key: string, number: number): void {
    this.#numbers.set(key, number);
    this.#unsure.push(key);
  }

  kept(): void {
    if (this.#unsure.length > 0) this.#unsure = [];
  }

  undo(): void {
    for (const key of this.#unsure) this.#numbers.delete(key);
    this.#unsure = [];
  }
}
