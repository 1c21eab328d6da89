import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type Clock, messageOf, RuntimeFault, SystemClock } from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { Memory, MemoryFor } from "./memory.ts";
import { loosely, matchExpression } from "./query-words.ts";
import { placeOf } from "./scopes.ts";

/** @public */
export interface EmbeddedMemory extends Disposable {
  readonly provider: MemoryFor;
  /** How many memories it has, of all principals. */
  readonly size: number;
  close(): void;
}

const version = 1;
/** Limits the search without the index: memories, and characters of them. */
const mostScanned = 10_000;
const mostScannedCharacters = 4_000_000;

const schema = `
create table memory (
  number integer primary key, shelf text not null, id text not null,
  scope text not null, content text not null, tags text not null, at integer not null, unique (shelf, id)
);
create virtual table memory_words using fts5 (
  content, tags, shelf, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2"
);
pragma user_version = ${version};
`;

/**
 * Memories in their own SQLite file, found and ranked by full text (BM25; tags count twice). Each search reads one place,
 * and words in a query are only words.
 *
 * @param file made if it is missing, readable only by its owner; `:memory:` stores nothing
 * @throws RuntimeFault `config_invalid`
 * @public
 */
export async function openEmbeddedMemory(
  file: string,
  { clock = new SystemClock() }: { readonly clock?: Clock } = {},
): Promise<EmbeddedMemory> {
  const { DatabaseSync: Database } = await import("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    if (file !== ":memory:") await createPrivately(file);
    database = new Database(file, { timeout: 5_000 });
    prepare(database, file);
    return new SqliteMemory(database, clock);
  } catch (error) {
    database?.close();
    if (error instanceof RuntimeFault) throw error;
    const message = `\`${file}\` cannot be opened as a memory: ${messageOf(error)}. Name another file, or move this one away.`;
    throw new RuntimeFault("config_invalid", message, { cause: error });
  }
}

/** SQLite itself would use the umask. */
async function createPrivately(file: string): Promise<void> {
  const made = await open(file, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  await made.close();
}

function prepare(database: DatabaseSync, file: string): void {
  database.exec("pragma journal_mode=wal; pragma synchronous=full; pragma trusted_schema=off");
  const found = database.prepare("pragma user_version").get()?.["user_version"];
  if (found === version) return;
  const tables = database.prepare("select count(*) as n from sqlite_schema").get()?.["n"];
  if (found !== 0 || tables !== 0)
    throw new RuntimeFault("config_invalid", `\`${file}\` is not a memory of this version; name another file.`);
  database.exec(`begin immediate; ${schema} commit;`);
}

interface Row {
  readonly id: string;
  readonly scope: string;
  readonly content: string;
  readonly tags: string;
  readonly at: number;
}

class SqliteMemory implements EmbeddedMemory {
  readonly provider: MemoryFor;
  readonly #database: DatabaseSync;
  readonly #clock: Clock;
  readonly #insert: StatementSync;
  readonly #index: StatementSync;
  readonly #match: StatementSync;
  readonly #scan: StatementSync;
  readonly #count: StatementSync;

  constructor(database: DatabaseSync, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.#insert = database.prepare(
      "insert into memory (shelf, id, scope, content, tags, at) values (?, ?, ?, ?, ?, ?) on conflict do nothing",
    );
    this.#index = database.prepare("insert into memory_words (rowid, content, tags, shelf) values (?, ?, ?, ?)");
    this.#match = database.prepare(
      `select id, scope, m.content, m.tags, at from memory_words w join memory m on m.number = w.rowid
       where memory_words match ? and m.shelf = ? order by bm25(memory_words, 1.0, 2.0, 0.0), m.number desc limit ?`,
    );
    this.#scan = database.prepare(
      `select id, scope, content, tags, at from memory where shelf = ? order by number desc limit ${mostScanned}`,
    );
    this.#count = database.prepare("select count(*) as n from memory");
    this.provider = ({ principal }) => ({
      recall: async (query, scope, limit) => this.#recall(placeOf(principal, scope), query, limit),
      write: async (content, scope, tags) => ({ id: this.#write(placeOf(principal, scope), { content, scope, tags }) }),
    });
  }

  get size(): number {
    return Number(this.#count.get()?.["n"]);
  }

  #recall(place: string, query: string, limit: number): readonly Memory[] {
    const words = matchExpression(query);
    const expression =
      words === undefined ? undefined : `shelf : "${placeWord(place)}" AND {content tags} : (${words})`;
    const found = expression === undefined ? [] : this.#match.all(expression, place, limit);
    const rows = found as unknown as readonly Row[]; // the columns of the query
    if (rows.length > 0) return rows.map(memoryOf);
    // Without a hit: texts without blanks, other forms of a word, and queries of signs.
    return loosely(this.#newest(place), ({ content, tags }) => `${content}\n${tags}`, query)
      .slice(0, limit)
      .map(memoryOf);
  }

  *#newest(place: string): Generator<Row> {
    let left = mostScannedCharacters;
    for (const row of this.#scan.iterate(place) as Iterable<unknown> as Iterable<Row>) {
      left -= row.content.length;
      if (left < 0) return;
      yield row;
    }
  }

  /** The same content in one place is one memory. */
  #write(place: string, { content, scope, tags }: Pick<Memory, "content" | "scope" | "tags">): string {
    const id = `mem_${sha256(content).slice(0, 32)}`;
    this.#database.exec("begin immediate");
    try {
      const { changes, lastInsertRowid } = this.#insert.run(
        place,
        id,
        scope,
        content,
        JSON.stringify(tags),
        this.#clock.now(),
      );
      if (changes === 1) this.#index.run(lastInsertRowid, content, tags.join("\n"), placeWord(place));
      this.#database.exec("commit");
      return id;
    } catch (error) {
      this.#database.exec("rollback");
      throw error;
    }
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** The index must see one word. */
function placeWord(place: string): string {
  return sha256(place);
}

function memoryOf({ id, scope, content, tags, at }: Row): Memory {
  const parsed: unknown = JSON.parse(tags);
  return { id, scope, content, tags: Array.isArray(parsed) ? parsed.map(String) : [], at };
}
