import { closeSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock, settled } from "../../../../core/src/testing/clock.ts";
import {
  all,
  approvalOf,
  callOf,
  claimOf,
  decideOf,
  eventOf,
  holdOf,
  hourMs,
  note,
  recordOf,
  serializePlainly,
  settleOf,
} from "../../testing/records.ts";
import type { SerializeEvent } from "../store.ts";
import { openDatabase } from "./open.ts";
import { SqliteStore } from "./sqlite-store.ts";

const { at, openAt } = sqliteFiles();

describe("SqliteStore under trouble", () => {
  it("refuses more than 100,000 waiting writes as overloaded, and takes them again when they are written", async () => {
    await using store = openAt("overload.db");
    for (let i = 0; i < 100_000; i += 1) void store.commit(note("n"), "queued");
    await expect(store.commit(note("n"), "queued")).rejects.toMatchObject({ code: "overloaded" });
    await settled();
    expect(await store.commit(note("n"), "committed")).toEqual({ won: true });
  });

  it("refuses a write whose event cannot be serialized, and writes the others of its batch (case 198)", async () => {
    const serialize: SerializeEvent = (event) => {
      if (event.moment === "noted" && event.type === "wordless") throw new Error("no words");
      return serializePlainly(event);
    };
    await using store = openAt("alone.db", { clock: new FakeClock(), serialize });
    const [first, alone, last] = await Promise.allSettled([
      store.commit(note("first"), "committed"),
      store.commit(note("wordless"), "committed"),
      store.commit(note("last"), "synced"),
    ]);
    expect([first, last]).toEqual([first, first].map(() => ({ status: "fulfilled", value: { won: true } })));
    expect(alone).toMatchObject({ status: "rejected", reason: { code: "store_unwritable" } });
    expect((await all(store.events({ after: -1 }))).map(({ seq }) => seq)).toEqual([0, 1]);
  });

  it("refuses a write of a call whose event cannot be serialized, and continues (case 198)", async () => {
    let speechless = false;
    const serialize: SerializeEvent = (event) => {
      if (speechless) throw new Error("no words");
      return serializePlainly(event);
    };
    const clock = new FakeClock();
    await using store = openAt("serialize.db", { clock, serialize });
    await store.commit(note("a"), "committed");
    speechless = true;
    const record = recordOf(callOf(clock), {
      state: "held",
      match: "m",
      approvalId: "apr_1",
    });
    await expect(store.commit(holdOf(record, approvalOf(record)), "synced")).rejects.toMatchObject({
      code: "store_unwritable",
    });
    expect(await store.call({ key: record.key })).toBeUndefined();
    expect(await store.call({ match: "m" })).toBeUndefined();
    expect(await store.approval("apr_1")).toBeUndefined();
    const queued = store.commit({ write: "note", event: { ...eventOf("b"), moment: "attempted" } as never }, "queued");
    await expect(queued).rejects.toMatchObject({ code: "store_unwritable" });
    expect(store.lost).toBe(0);
    speechless = false;
    expect(await store.commit(holdOf(record, approvalOf(record)), "committed")).toEqual({
      won: true,
    });
    expect((await all(store.events({ after: -1 }))).map(({ seq }) => seq)).toEqual([0, 1]);
  });

  it("rolls back a batch that the database refuses half-way, and works on", async () => {
    const clock = new FakeClock();
    await using store = openAt("half.db", { clock });
    const first = recordOf(callOf(clock), { fence: store.incarnation });
    await store.commit(claimOf(first), "committed");
    const fine = recordOf(callOf(clock), { key: "fine" });
    const impossible = recordOf({ ...callOf(clock), id: first.call.id }, { key: "other" });
    const answers = await Promise.allSettled(
      [fine, impossible].map((record) => store.commit(claimOf(record, { fresh: true }), "synced")),
    );
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await store.call({ key: "fine" })).toBeUndefined();
    expect(await store.commit(settleOf(first, "ok"), "synced")).toEqual({ won: true });
    expect(await all(store.events({ after: -1 }))).toHaveLength(2);
  });

  it("takes back a batch whose commit fails, and works on (case 198)", async () => {
    const opened = openDatabase(at("commit.db"), () => {});
    const { database } = opened;
    const prepare = database.prepare.bind(database);
    let isFull = false;
    database.prepare = (sql) => {
      const statement = prepare(sql);
      const get = statement.get.bind(statement);
      if (sql !== "commit") return statement;
      return Object.assign(statement, {
        get: () => {
          if (isFull) throw new Error("database or disk is full");
          return get();
        },
      });
    };
    const clock = new FakeClock();
    await using store = new SqliteStore(opened, { clock, serialize: serializePlainly });
    await store.commit(note("a"), "committed");
    isFull = true;
    const record = recordOf(callOf(clock), { key: "k" });
    for (let i = 0; i < 3; i += 1)
      await expect(store.commit(claimOf(record, { fresh: true }), "synced")).rejects.toMatchObject({
        code: "store_unwritable",
      });
    expect([await store.call({ key: "k" }), store.broken]).toEqual([undefined, undefined]);
    isFull = false;
    expect(await store.commit(claimOf(record, { fresh: true }), "synced")).toEqual({ won: true });
    expect((await all(store.events({ after: -1 }))).map(({ seq }) => seq)).toEqual([0, 1]);
  });

  it("answers within a young turn, and at its end when no caller waits", async () => {
    await using store = openAt("young.db");
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await store.commit(note("a"), "committed");
    expect(turned).toBe(false);
    void store.commit(note("b"), "queued");
    expect(await all(store.events({ after: 0 }))).toEqual([]);
    await settled(1);
    expect(await all(store.events({ after: 0 }))).toHaveLength(1);
  });

  it("writes all who wait at the same time in one transaction", async () => {
    await using store = openAt("batch.db");
    const batches: number[] = [];
    using _ = store.follow((entries) => batches.push(entries.length));
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => store.commit(note("n"), i % 2 === 0 ? "synced" : "committed")),
    );
    expect(batches).toEqual([200]);
  });

  it("takes a failed batch back to what was written before it", async () => {
    let speechless = false;
    const clock = new FakeClock();
    const serialize: SerializeEvent = (event) => {
      if (speechless) throw new Error("no words");
      return serializePlainly(event);
    };
    await using store = openAt("back.db", { clock, serialize });
    const record = recordOf(callOf(clock), {
      state: "held",
      match: "m",
      approvalId: "apr_1",
      aliveUntil: clock.now() + hourMs,
    });
    await store.commit(holdOf(record, approvalOf(record)), "committed");
    const running = recordOf(callOf(clock), { match: "r", fence: store.incarnation });
    await store.commit(claimOf(running), "committed");
    speechless = true;
    await Promise.allSettled([
      store.commit(decideOf(approvalOf(record), "withdrawn"), "committed"),
      store.commit(settleOf(running, "unknown"), "committed"),
    ]);
    expect(await store.call({ match: "m" })).toEqual(record);
    expect(await store.approval("apr_1")).toMatchObject({ state: "pending" });
    expect(await store.call({ match: "r" })).toMatchObject({ key: running.key, state: "attempted" });
    expect(await store.call({ key: running.key })).toMatchObject({ state: "attempted" });
    speechless = false;
    expect(await store.commit(settleOf(running, "ok"), "committed")).toEqual({ won: true });
  });

  it("answers a loser only when the winner is written; if that fails, none has won", async () => {
    let speechless = true;
    const clock = new FakeClock();
    const serialize: SerializeEvent = (event) => {
      if (speechless) throw new Error("no words");
      return serializePlainly(event);
    };
    await using store = openAt("losers.db", { clock, serialize });
    const claims = [1, 2].map(() => store.commit(claimOf(recordOf(callOf(clock), { key: "k" })), "synced"));
    expect((await Promise.allSettled(claims)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    speechless = false;
    expect(await store.commit(claimOf(recordOf(callOf(clock), { key: "k" })), "synced")).toEqual({ won: true });
    expect(await store.commit(claimOf(recordOf(callOf(clock), { key: "k" })), "synced")).toMatchObject({
      won: false,
    });
  });

  it("stops for good when the disk did not keep what was written", async () => {
    const problems: string[] = [];
    const opened = openDatabase(at("broken.db"), () => {});
    closeSync(opened.walFd);
    const neverOpen = 1_000_000;
    const store = new SqliteStore(
      { ...opened, walFd: neverOpen },
      { clock: new FakeClock(), serialize: serializePlainly, log: (problem) => problems.push(problem) },
    );
    await expect(store.commit(note("a"), "synced")).rejects.toMatchObject({ code: "store_broken" });
    expect(store.broken).toMatchObject({ code: "store_broken" });
    for (const durability of ["buffered", "queued", "committed", "synced"] as const) {
      await expect(store.commit(note("b"), durability)).rejects.toMatchObject({
        code: "store_broken",
      });
    }
    expect(problems.join()).toContain("the store has stopped");
    await expect(store[Symbol.asyncDispose]()).rejects.toThrow("EBADF");
  });

  it("rejects every read of a damaged table with a typed fault", async () => {
    const opened = openDatabase(at("unread.db"), () => {});
    const clock = new FakeClock();
    await using store = new SqliteStore(opened, { clock, serialize: serializePlainly });
    opened.database.exec("drop table call; drop table approval; drop table document");
    const reads = [
      () => store.call({ key: "k" }),
      () => store.call({ match: "m" }),
      () => store.calls({}),
      () => store.stranded(),
      () => store.approval("apr_1"),
      () => store.approvals({}),
      () => store.audiences({}),
      () => store.needed(["a"]),
      () => store.documents.get("kind", "id"),
      () => store.documents.list("kind", ""),
      () => store.commit(claimOf(recordOf(callOf(clock))), "synced"),
    ];
    for (const read of reads) await expect(read(), `${read}`).rejects.toMatchObject({ code: "store_unreadable" });
  });

  it("tells everyone of every batch, also when a follower and its log throw", async () => {
    const fail = (): never => {
      throw new Error("no");
    };
    await using store = openAt("bad-log.db", { log: fail });
    const told: number[] = [];
    store.follow(fail);
    store.follow((entries) => told.push(...entries.map(({ seq }) => seq)));
    for (const durability of ["buffered", "queued", "committed", "synced"] as const)
      expect(await store.commit(note("n"), durability)).toEqual({ won: true });
    expect(told).toEqual([0, 1, 2, 3]);
  });

  it("tells of a lost write that was answered, also where another one in its batch is waited for", async () => {
    const problems: string[] = [];
    const opened = openDatabase(at("beside.db"), () => {});
    const log = (problem: string): void => void problems.push(problem);
    await using store = new SqliteStore(opened, { clock: new FakeClock(), serialize: serializePlainly, log });
    await store.commit(note("a"), "committed");
    opened.database.exec("pragma query_only = 1");
    expect(await store.commit(note("b"), "queued")).toEqual({ won: true });
    await expect(store.commit(note("c"), "committed")).rejects.toMatchObject({ code: "store_unwritable" });
    expect(problems).toEqual([expect.stringContaining("Lost: 1 write that no caller waited for.")]);
    opened.database.exec("pragma query_only = 0");
  });
});
