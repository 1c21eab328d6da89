import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Formed } from "../store.ts";

/** Bodies begin with a brace, so a number is none of them. */
const separator = "\n";
const mostRead = 1000;

/**
 * Keeps the fixed parts of bodies once: of the second body with the same fragments on, a row is the number of the form
 * and the fields between them. Reading puts together exactly what was spelled; a row that fits no form stays as it is,
 * and the log's tree says that it was changed.
 */
export class EventForms {
  readonly #add: StatementSync;
  readonly #find: StatementSync;
  /** 0: met once, not kept. */
  #numbers = new WeakMap<readonly string[], number>();
  readonly #read = new Map<string, readonly string[]>();
  #last: number;
  #added = false;

  constructor(database: DatabaseSync) {
    this.#add = database.prepare("insert into event_form values (?, ?)");
    this.#find = database.prepare("select fragments from event_form where number = ?");
    const [last] = Object.values(database.prepare("select max(number) from event_form").get() ?? {});
    this.#last = Number(last ?? 0);
  }

  /** What is kept of it; writes the form when it is new, in the transaction that is open. */
  kept(spelled: string | Formed): string {
    if (typeof spelled === "string") return spelled;
    const { body, fragments, fields } = spelled;
    const number = this.#numbers.get(fragments);
    if (number === undefined) {
      this.#numbers.set(fragments, 0);
      return body;
    }
    return [number === 0 ? this.#keep(fragments) : number, ...fields].join(separator);
  }

  whole(kept: string): string {
    if (kept.startsWith("{")) return kept;
    const [number = "", ...fields] = kept.split(separator);
    const fragments = this.#fragments(number);
    if (fragments.length !== fields.length + 1) return kept;
    return fragments.map((fragment, i) => fragment + (fields[i] ?? "")).join("");
  }

  /** The transaction was rolled back, and what it kept with it. */
  undo(): void {
    if (!this.#added) return;
    this.#added = false;
    this.#numbers = new WeakMap();
  }

  committed(): void {
    this.#added = false;
  }

  #keep(fragments: readonly string[]): number {
    this.#last += 1;
    this.#add.get(this.#last, JSON.stringify(fragments));
    this.#added = true;
    this.#numbers.set(fragments, this.#last);
    return this.#last;
  }

  #fragments(number: string): readonly string[] {
    const known = this.#read.get(number);
    if (known !== undefined) return known;
    const row = this.#find.get(Number(number));
    const fragments = row === undefined ? [] : fragmentsIn(String(row["fragments"]));
    if (this.#read.size >= mostRead) this.#read.clear();
    this.#read.set(number, fragments);
    return fragments;
  }
}

/** None: somebody else wrote there. Its rows are read as they lie, and the log's tree names the first of them. */
function fragmentsIn(text: string): readonly string[] {
  try {
    const fragments: unknown = JSON.parse(text);
    return Array.isArray(fragments) && fragments.every((one) => typeof one === "string") ? fragments : [];
  } catch {
    return []; // no JSON at all: the same
  }
}
