import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { digestsIn } from "../references.ts";

/** Notes with each written row which artifacts it refers to; in the row's own transaction. */
export class Referring {
  readonly #add: StatementSync;

  constructor(database: DatabaseSync) {
    this.#add = database.prepare("insert or ignore into call_artifact values (?, ?)");
  }

  /** @param texts JSON as it is kept; an outcome that is one text is a JSON string and refers to nothing */
  note(number: number, ...texts: readonly (SQLInputValue | undefined)[]): void {
    for (const text of texts) {
      if (typeof text !== "string" || text.startsWith('"')) continue;
      for (const digest of digestsIn(text)) this.#add.get(digest, number);
    }
  }
}
