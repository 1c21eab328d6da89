import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { CallRecord } from "../../calls/records.ts";

/** Which rows start-up must load, as a table of their numbers: plain calls never come here. */
export class Waiting {
  readonly #isKept: boolean;
  readonly #add: StatementSync;
  readonly #remove: StatementSync;
  readonly #numbers: Set<number>;
  /** Numbers whose place in the set changed in this transaction. */
  #changed: number[] = [];

  constructor(database: DatabaseSync, isKept: boolean) {
    this.#isKept = isKept;
    this.#add = database.prepare("insert or ignore into call_waiting values (?)");
    this.#remove = database.prepare("delete from call_waiting where number = ?");
    const rows = database.prepare("select number from call_waiting").all();
    this.#numbers = new Set(rows.map(({ number }) => Number(number)));
  }

  note({ state, aliveUntil, call }: CallRecord): void {
    if (!this.#isKept) return;
    const waits = aliveUntil !== undefined || state === "held" || state === "suspended" || state === "unknown";
    if (waits === this.#numbers.has(call.number)) return;
    this.#changed.push(call.number);
    if (waits) {
      this.#add.get(call.number);
      this.#numbers.add(call.number);
    } else {
      this.#remove.get(call.number);
      this.#numbers.delete(call.number);
    }
  }

  kept(): void {
    if (this.#changed.length > 0) this.#changed = [];
  }

  /** The table was rolled back; the set goes back with it, last change first. */
  undo(): void {
    for (const number of this.#changed.reverse()) {
      if (!this.#numbers.delete(number)) this.#numbers.add(number);
    }
    this.#changed = [];
  }
}
