import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

interface Insert {
  readonly rows: number;
  readonly statement: StatementSync;
}

/** Inserts many rows with few statements: as many a statement as fit, largest first. */
export class Inserts {
  readonly #width: number;
  readonly #inserts: readonly Insert[];

  /** @param sizes rows a statement, falling, to 1 */
  constructor(database: DatabaseSync, table: string, width: number, sizes: readonly number[]) {
    this.#width = width;
    const row = `(${Array(width).fill("?").join()})`;
    this.#inserts = sizes.map((rows) => ({
      rows,
      statement: database.prepare(`insert into ${table} values ${Array(rows).fill(row).join()}`),
    }));
  }

  /** @param values the rows' values, one row after the other */
  write(values: readonly SQLInputValue[]): void {
    let at = 0;
    for (const { rows, statement } of this.#inserts) {
      const step = rows * this.#width;
      if (values.length === step) {
        statement.get(...values); // `get` for a write: `run` also asks for the changes it made
        return;
      }
      for (; values.length - at >= step; at += step) statement.get(...values.slice(at, at + step));
    }
  }
}
