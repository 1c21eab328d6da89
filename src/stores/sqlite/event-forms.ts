import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Formed } from "../store.ts";

/** Bodies begin with a brace, so a number is none of them; and JSON has no bare line ends. */
const separator = "\n";
/** Between two entries of one row. */
const boundary = "\x1e";
const mostRead = 1000;

/**
 * Entries as rows, and back. Entries of one transaction share a row, for a row costs as much as what stands in it; and
 * fixed parts of bodies are kept once: from the second body with the same fragments on, an entry is the number of the
 * form and the fields between them. Reading puts together exactly what was spelled; a row that fits no form stays as it is,
 * and the log's tree says that it was changed.
 */
export class EventForms {
  readonly #insert: StatementSync;
  readonly #find: StatementSync;
  /** Empty: met once, not kept. */
  #numbers = new WeakMap<readonly string[], string>();
  readonly #read = new Map<string, readonly string[]>();
  #last: number;
  #added = false;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare("insert into event_form values (?, ?)");
    this.#find = database.prepare("select fragments from event_form where number = ?");
    const [last] = Object.values(database.prepare("select max(number) from event_form").get() ?? {});
    this.#last = Number(last ?? 0);
  }

  /** The row of these; writes a form that is new, in the transaction that is open. */
  row(entries: readonly (string | Formed)[]): string {
    const pieces: string[] = [];
    for (const spelled of entries) {
      if (pieces.length > 0) pieces.push(boundary);
      if (typeof spelled === "string") pieces.push(spelled);
      else this.#add(spelled, pieces);
    }
    return pieces.join(separator);
  }

  /** The entries of a row, as they were spelled. */
  entriesIn(row: string): readonly string[] {
    return row.split(separator + boundary + separator).map((kept) => this.#whole(kept));
  }

  #whole(kept: string): string {
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

  /** They are read from the file again. */
  forget(): void {
    this.#read.clear();
  }

  committed(): void {
    this.#added = false;
  }

  #add({ body, fragments, fields }: Formed, pieces: string[]): void {
    const number = this.#numbers.get(fragments);
    if (number === undefined) {
      this.#numbers.set(fragments, "");
      pieces.push(body);
    } else pieces.push(number === "" ? this.#keep(fragments) : number, ...fields);
  }

  #keep(fragments: readonly string[]): string {
    this.#last += 1;
    this.#insert.get(this.#last, JSON.stringify(fragments));
    this.#added = true;
    const number = String(this.#last);
    this.#numbers.set(fragments, number);
    return number;
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
