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

/** So much of a key is the same for all calls of a script (gates/once.ts). */
const familyName = /^key_[0-9a-f]{12}/;
const mostFamilies = 32;
/** Of one that is read whole, and of one that has grown since. */
const [mostRead, mostOfFamily] = [64, 1_024];

/**
 * In the file, where the next process finds them. Keys that begin alike are asked for one after the other, twice each and
 * mostly in vain: all of those that were asked for last are known here, and the file is not asked for each.
 */
export class TableKeys implements Keys {
  readonly #find: StatementSync;
  readonly #family: StatementSync;
  readonly #put: StatementSync;
  /** By what they begin with. Undefined: they are many, and the file is asked for each. */
  readonly #families = new Map<string, Map<string, number> | undefined>();

  constructor(database: DatabaseSync) {
    this.#find = database.prepare("select number from call_key where key = ?");
    this.#family = database.prepare(
      `select key, number from call_key where key >= ? and key < ? limit ${mostRead + 1}`,
    );
    this.#put = database.prepare("insert or ignore into call_key values (?, ?)");
  }

  find(key: string): number | undefined {
    const family = this.#read(familyOf(key));
    if (family !== undefined) return family.get(key);
    const number = this.#find.get(key)?.["number"];
    return number === undefined ? undefined : Number(number);
  }

  put(key: string, number: number): void {
    this.#put.get(key, number);
    const name = familyOf(key);
    const family = name === undefined ? undefined : this.#families.get(name);
    if (name === undefined || family === undefined) return;
    if (family.size >= mostOfFamily) this.#families.set(name, undefined);
    else if (!family.has(key)) family.set(key, number);
  }

  kept(): void {}

  undo(): void {
    this.#families.clear(); // what was put is the transaction's own
  }

  /** All there are, read once; undefined where there are many. */
  #read(name: string | undefined): ReadonlyMap<string, number> | undefined {
    if (name === undefined || this.#families.has(name)) return this.#families.get(name ?? "");
    const rows = this.#family.all(name, after(name));
    const isWhole = rows.length <= mostRead;
    const family = isWhole ? new Map(rows.map(({ key, number }) => [String(key), Number(number)])) : undefined;
    for (const oldest of this.#families.keys()) if (this.#families.size >= mostFamilies) this.#families.delete(oldest);
    this.#families.set(name, family);
    return family;
  }
}

function familyOf(key: string): string | undefined {
  return familyName.exec(key)?.[0];
}

/** The first text that comes after all that begin so. */
function after(name: string): string {
  return name.slice(0, -1) + String.fromCharCode(name.charCodeAt(name.length - 1) + 1);
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
