import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { all, callOf, claimOf, note, recordOf, serializePlainly } from "../../testing/records.ts";
import { openDatabase } from "./open.ts";
import { currentSchema, type Schema, type SchemaStep } from "./schema.ts";
import { SqliteStore } from "./sqlite-store.ts";

const { at, openAt } = sqliteFiles();
/** Made by the code of commit 8adb1b77: an ended, a held and an attempted call, a note and a document. */
const oldStore = gunzipSync(readFileSync(new URL("fixtures/version-8.db.gz", import.meta.url)));
const [ended, held, open] = [1, 2, 3].map((number) => `call_019a9e5c-0000-7000-8000-00000000000${number}`);

const { version, tables, steps } = currentSchema;

/** The next version of Postern: adds a column and an index. */
const adds: SchemaStep = {
  sql: "alter table call add column note text; create index call_note on call (note) where note is not null",
  runsFrom: version,
};
/** The one after it: takes away what only the present version uses. */
const removes: SchemaStep = { sql: "drop index call_parent", runsFrom: version + 1 };

const next: Schema = {
  version: version + 1,
  tables: `${tables} ${adds.sql};`,
  steps: new Map([...steps, [version + 1, adds]]),
};
const afterNext: Schema = {
  version: version + 2,
  tables: `${next.tables} ${removes.sql};`,
  steps: new Map([...next.steps, [version + 2, removes]]),
};

function openAs(schema: Schema, name: string, log: string[] = []): SqliteStore {
  const opened = openDatabase(at(name), (problem) => void log.push(problem), schema);
  return new SqliteStore(opened, { clock: new FakeClock(), serialize: serializePlainly });
}

function oldFile(name: string): string {
  writeFileSync(at(name), oldStore);
  return at(name);
}

describe("a store of an earlier version", () => {
  it("of an earlier commit opens with all that it had", async () => {
    oldFile("earlier.db");
    await using store = openAt("earlier.db");
    expect(await store.call({ key: ended ?? "" })).toMatchObject({ state: "ok" });
    expect(await store.stranded()).toEqual([expect.objectContaining({ key: open })]);
    expect(await store.approvals({ state: "pending" })).toEqual([expect.objectContaining({ id: "apr_1", key: held })]);
    expect(await store.documents.get("pin", "one")).toEqual({ version: 1, body: { pinned: true } });
    expect(await all(store.events({ after: -1 }))).toHaveLength(5);
  });

  it("is copied, then upgraded in one step over several versions, and the copy still opens", async () => {
    const path = oldFile("copied.db");
    const log: string[] = [];
    const upgraded = openAs(afterNext, "copied.db", log);
    expect(await upgraded.approvals({ state: "pending" })).toHaveLength(1);
    await upgraded[Symbol.asyncDispose]();
    expect(log).toEqual([
      expect.stringContaining(
        `upgraded from version 8 to ${afterNext.version}. Before that it was copied to \`${path}.version-8\``,
      ),
    ]);
    expect(statSync(`${path}.version-8`).mode & 0o777).toBe(0o600);
    await using copy = openAt("copied.db.version-8");
    expect(copy.lostBefore).toBeUndefined();
    expect(await all(copy.events({ after: -1 }))).toHaveLength(5);
    await openAs(afterNext, "copied.db")[Symbol.asyncDispose]();
    expect(existsSync(`${path}.version-8-2`), "a store of this version is not copied").toBe(false);
  });

  it("keeps what only its write-ahead log had when the process was killed", async () => {
    const clock = new FakeClock();
    const writer = openAt("killed.db", { clock });
    const record = recordOf(callOf(clock), { fence: writer.incarnation });
    await writer.commit(claimOf(record), "synced");
    for (const part of ["", "-wal"]) writeFileSync(at(`killed-copy.db${part}`), readFileSync(at(`killed.db${part}`)));
    await writer[Symbol.asyncDispose]();
    const upgraded = openAs(next, "killed-copy.db");
    expect(upgraded.lostBefore).toBeUndefined();
    expect(await upgraded.stranded()).toHaveLength(1);
    await upgraded[Symbol.asyncDispose]();
    await using copy = openAt(`killed-copy.db.version-${version}`);
    expect(await copy.stranded()).toHaveLength(1);
  });

  it("still runs with the Postern before a step that only added, and goes on with the new one", async () => {
    oldFile("both.db");
    await openAs(next, "both.db")[Symbol.asyncDispose]();
    const clock = new FakeClock();
    const before = openAt("both.db", { clock });
    const record = recordOf(callOf(clock, { id: "call_from_the_one_before" }), { fence: before.incarnation });
    expect(await before.commit(claimOf(record), "synced")).toEqual({ won: true });
    expect(await before.commit(note("from the one before"), "synced")).toEqual({ won: true });
    expect(await before.approvals({ state: "pending" })).toHaveLength(1);
    await before[Symbol.asyncDispose]();
    await using after = openAs(next, "both.db");
    expect(await after.call({ key: record.key })).toMatchObject({ state: "attempted" });
    expect(await all(after.events({ after: -1 }))).toHaveLength(7);
    expect(readdirSync(at(".")).filter((name) => name.startsWith("both.db.version"))).toHaveLength(1);
  });

  it("is refused as newer by a Postern that needs what a step removed", async () => {
    oldFile("removed.db");
    await openAs(afterNext, "removed.db")[Symbol.asyncDispose]();
    const bytes = readFileSync(at("removed.db"));
    expect(() => openAt("removed.db")).toThrow(expect.objectContaining({ code: "store_newer" }));
    expect(readFileSync(at("removed.db"))).toEqual(bytes);
    await openAs(next, "removed.db")[Symbol.asyncDispose](); // still knows it
  });

  it("stays as it was, without a copy, if a step fails", async () => {
    const path = oldFile("failing.db");
    const failing: SchemaStep = { ...adds, sql: "alter table call add column note text; drop table missing" };
    const broken: Schema = { ...next, steps: new Map([...steps, [version + 1, failing]]) };
    expect(() => openAs(broken, "failing.db")).toThrow(expect.objectContaining({ code: "store_unopenable" }));
    expect(existsSync(`${path}.version-8`)).toBe(false);
    using database = new DatabaseSync(path);
    expect(database.prepare("select value from meta where name = 'schema'").get()).toEqual({ value: 8 });
    expect(database.prepare("select name from pragma_table_info('call') where name = 'note'").all()).toEqual([]);
  });
});
