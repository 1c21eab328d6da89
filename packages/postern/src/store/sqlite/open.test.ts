import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs, { readFileSync, statSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { all, note } from "../../testing/records.ts";
import { checkSqlite } from "./open.ts";
import { currentSchema } from "./schema.ts";

const { at, openAt } = sqliteFiles();

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** Opens the store in a process of its own, says `open` or the fault's code, and stays. */
function elsewhere(location: string): ChildProcess {
  const source = JSON.stringify(new URL("sqlite-store.ts", import.meta.url).href);
  const script = `
    const { openSqliteStore } = await import(${source});
    try {
      const store = openSqliteStore({ location: ${JSON.stringify(location)}, clock: { now: Date.now, monotonic: () => performance.now(), in: () => () => {} }, serialize: () => "{}" });
      await store.commit({ write: "note", event: { moment: "noted", at: 0, type: "t", summary: "", traceId: "", policyVersion: "p", outcome: "info" } }, "synced");
      console.log("open");
      setInterval(() => store.incarnation, 1000);
    } catch (error) {
      console.log(error.code);
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

async function firstWord(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("it has no output");
  const [chunk] = await once(child.stdout, "data");
  return String(chunk).trim();
}

describe("openDatabase", () => {
  it("refuses a file that another process has open, and opens it when that one was killed", async () => {
    const other = elsewhere(at("locked.db"));
    expect(await firstWord(other)).toBe("open");
    expect(() => openAt("locked.db")).toThrow(
      expect.objectContaining({
        code: "store_locked",
        message: expect.stringContaining(at("locked.db")),
      }),
    );
    const gone = once(other, "exit");
    other.kill("SIGKILL");
    await gone;
    await using store = openAt("locked.db");
    expect(await all(store.events({ after: -1 }))).toHaveLength(1);
    const third = elsewhere(at("locked.db"));
    expect(await firstWord(third)).toBe("store_locked");
  });

  it("refuses a second store on the same file in the same process, and leaves the first its lock", async () => {
    await using store = openAt("twice.db");
    for (let i = 0; i < 3; i += 1)
      expect(() => openAt("twice.db")).toThrow(expect.objectContaining({ code: "store_locked" }));
    expect(await firstWord(elsewhere(at("twice.db")))).toBe("store_locked");
    expect(await store.commit(note("still mine"), "synced")).toEqual({ won: true });
  });

  it("refuses what is not a database, and a database of something else, and changes neither", () => {
    writeFileSync(at("text.db"), "not a database, but long enough to be taken for one".repeat(100));
    expect(() => openAt("text.db")).toThrow(expect.objectContaining({ code: "store_foreign" }));
    const foreign = new DatabaseSync(at("foreign.db"));
    foreign.exec("create table song (title text)");
    foreign.close();
    expect(() => openAt("foreign.db")).toThrow(expect.objectContaining({ code: "store_foreign" }));
    const again = new DatabaseSync(at("foreign.db"));
    expect(again.prepare("select name from sqlite_schema").all()).toEqual([{ name: "song" }]);
    expect(again.prepare("pragma journal_mode").get()).toEqual({ journal_mode: "delete" });
    again.close();
  });

  it.each([
    ["store_newer", 99],
    ["store_older", 7],
  ])("refuses a file with `%s` if its schema is of version %i, and names both versions", async (code, version) => {
    const name = `${code}.db`;
    await openAt(name)[Symbol.asyncDispose]();
    const database = new DatabaseSync(at(name));
    database.exec(`update meta set value = ${version} where name = 'schema'`);
    database.close();
    const message = expect.stringMatching(new RegExp(`version ${version}.* knows ${currentSchema.version}`));
    expect(() => openAt(name)).toThrow(expect.objectContaining({ code, message }));
  });

  it.each([
    ["a table is missing", "drop table document", "column document.kind is missing"],
    ["the table of versions is missing", "drop table meta", "`meta` does not say its version"],
    ["the version is missing", "delete from meta", "`meta` does not say its version"],
    ["a column is missing", "alter table call drop column outcome", "column call.outcome is missing"],
    ["a trigger is missing", "drop trigger approval_left", "trigger approval_left is missing"],
    ["a column was added", "alter table event add column note text", "column event.note is not known"],
    ["a unique index is missing", "drop index call_key", "index call_key is missing"],
  ])("refuses a file as foreign, unchanged, if %s", async (what, sql, why) => {
    const name = `${what}.db`;
    await openAt(name)[Symbol.asyncDispose]();
    const database = new DatabaseSync(at(name));
    database.exec(sql);
    database.close();
    const before = readFileSync(at(name));
    const message = expect.stringContaining(why);
    expect(() => openAt(name)).toThrow(expect.objectContaining({ code: "store_foreign", message }));
    expect(readFileSync(at(name))).toEqual(before);
  });

  it("opens a file to which another program added a table and an index", async () => {
    await openAt("beside.db")[Symbol.asyncDispose]();
    const database = new DatabaseSync(at("beside.db"));
    database.exec("create table litestream (seq integer); create index by_state on call (state)");
    database.close();
    await using store = openAt("beside.db");
    expect(await store.commit(note("a"), "synced")).toEqual({ won: true });
  });

  it("refuses a file with a damaged page, and says that it is damaged", async () => {
    const first = openAt("torn.db");
    for (let i = 0; i < 500; i += 1) await first.commit(note(`entry ${i}`), "queued");
    await first[Symbol.asyncDispose]();
    const bytes = readFileSync(at("torn.db"));
    bytes.fill(0xff, 4096); // all but the page of the header and the schema
    writeFileSync(at("torn.db"), bytes);
    const message = expect.stringMatching(/torn\.db.* is damaged .*malformed/);
    expect(() => openAt("torn.db")).toThrow(expect.objectContaining({ code: "store_foreign", message }));
  });

  it("refuses an SQLite that could lose pages, naming both versions, and takes newer ones", () => {
    for (const version of ["3.51.2", "3.9.99", "2.99.99", "0"]) {
      expect(() => checkSqlite(version)).toThrow(
        expect.objectContaining({
          code: "node_too_old",
          message: expect.stringContaining(`${version}; Postern needs 3.51.3`),
        }),
      );
    }
    for (const version of ["3.51.3", "3.51.10", "3.52.0", "4.0.0"]) expect(() => checkSqlite(version)).not.toThrow();
  });

  it("says where it could not open", () => {
    expect(() => openAt(".")).toThrow(
      expect.objectContaining({
        code: "store_unopenable",
        message: expect.stringContaining(at(".")),
      }),
    );
  });

  it("gives back the room that it took for the log if the disk becomes full, and works", async () => {
    const { writeSync } = fs;
    let megabytes = 0;
    const filling = (...given: Parameters<typeof writeSync>): number => {
      megabytes += 1;
      if (megabytes > 3) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      return writeSync(...given);
    };
    const problems: string[] = [];
    fs.writeSync = filling as typeof writeSync;
    syncBuiltinESMExports();
    const store = openAt("nearly-full.db", { log: (problem) => void problems.push(problem) });
    fs.writeSync = writeSync;
    syncBuiltinESMExports();
    expect(statSync(at("nearly-full.db-wal")).size).toBeLessThan(1024 * 1024);
    const named = expect.stringMatching(/nearly-full\.db-wal` has \d+ bytes left \(ENOSPC.*It grows as it is written/);
    expect(problems).toEqual([named]);
    expect(await store.commit(note("a"), "synced")).toEqual({ won: true });
    await store[Symbol.asyncDispose]();
  });

  it("reports no lost log after a start that failed halfway", async () => {
    const { fstatSync } = fs;
    const failing = (): never => {
      throw Object.assign(new Error("EIO: i/o error, fstat"), { code: "EIO" });
    };
    fs.fstatSync = failing as never;
    syncBuiltinESMExports();
    expect(() => openAt("halfway.db")).toThrow(expect.objectContaining({ code: "store_unopenable" }));
    fs.fstatSync = fstatSync;
    syncBuiltinESMExports();
    await using store = openAt("halfway.db");
    expect(store.lostBefore).toBeUndefined();
  });

  it("makes missing folders, and keeps what it writes for its owner", async () => {
    await using store = openAt("deep/er/a.db");
    await store.commit(note("secret"), "synced");
    for (const file of ["deep/er/a.db", "deep/er/a.db-wal"]) expect(statSync(at(file)).mode & 0o077).toBe(0);
    expect(statSync(at("deep/er")).mode & 0o077).toBe(0);
  });

  it("leaves one file behind when it is closed", async () => {
    await openAt("closed.db")[Symbol.asyncDispose]();
    expect(() => statSync(at("closed.db-wal"))).toThrow("ENOENT");
  });
});
