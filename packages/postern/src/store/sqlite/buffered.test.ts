import { describe, expect, it } from "vitest";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock, settled } from "../../../../core/src/testing/clock.ts";
import { all, callOf, claimOf, note, recordOf, serializePlainly } from "../../testing/records.ts";
import { openDatabase } from "./open.ts";
import { SqliteStore } from "./sqlite-store.ts";

const { at, openAt } = sqliteFiles();

function batchesOf(store: SqliteStore): number[] {
  const batches: number[] = [];
  store.follow((entries) => batches.push(entries.length));
  return batches;
}

describe("what is buffered on a file", () => {
  it("gathers over the turns of some milliseconds, with one wait, and is one transaction then", async () => {
    const clock = new FakeClock();
    await using store = openAt("gathers.db", { clock });
    const batches = batchesOf(store);
    for (let i = 0; i < 3; i += 1) {
      expect(await store.commit(note("n"), "buffered")).toEqual({ won: true });
      await settled(1);
    }
    expect([clock.waiting, batches]).toEqual([1, []]);
    await clock.advance(19);
    expect(batches).toEqual([]);
    await clock.advance(1);
    expect(batches).toEqual([3]);
    void store.commit(note("n"), "buffered");
    await clock.advance(20);
    expect(batches).toEqual([3, 1]);
  });

  it.each(["queued", "committed", "synced"] as const)("goes with what is %s after it", async (durability) => {
    await using store = openAt(`with-${durability}.db`);
    const batches = batchesOf(store);
    void store.commit(note("a"), "buffered");
    await settled(1);
    await store.commit(note("b"), durability);
    await settled(1);
    expect(batches).toEqual([2]);
  });

  it.each(["committed", "synced"] as const)(
    "is written when a %s write has lost, which it is the answer to",
    async (durability) => {
      const clock = new FakeClock();
      await using store = openAt(`lost-to-${durability}.db`, { clock });
      const record = recordOf(callOf(clock), { key: "k" });
      await store.commit(note("in an older turn"), "committed");
      await settled(1);
      await clock.advance(5);
      expect(await store.commit(claimOf(record), "buffered")).toEqual({ won: true });
      expect(await store.commit(claimOf(record), durability)).toMatchObject({ won: false });
      expect(await all(store.events({ after: -1 }))).toHaveLength(2);
    },
  );

  it("is written when there is much of it, when it is flushed, when a list is read, and when the store is closed", async () => {
    const clock = new FakeClock();
    const store = openAt("written.db", { clock });
    const batches = batchesOf(store);
    const buffer = (): unknown => store.commit(note("n"), "buffered");
    for (let i = 0; i < 129; i += 1) buffer();
    expect(batches).toEqual([128]);
    await store.flush();
    expect(batches).toEqual([128, 1]);
    await store.flush();
    buffer();
    await store.calls({});
    buffer();
    await store[Symbol.asyncDispose]();
    expect(batches).toEqual([128, 1, 1, 1]);
    await clock.advance(20); // its wait comes after the end
    await using again = openAt("written.db");
    expect(await all(again.events({ after: -1 }))).toHaveLength(131);
  });

  it("is counted as lost when it cannot be written, for it was answered; what was waited for is not", async () => {
    const problems: string[] = [];
    const opened = openDatabase(at("lost.db"), () => {});
    const log = (problem: string): unknown => problems.push(problem);
    await using store = new SqliteStore(opened, { clock: new FakeClock(), serialize: serializePlainly, log });
    opened.database.exec("pragma query_only = 1");
    await expect(store.commit(note("n"), "committed")).rejects.toMatchObject({ code: "store_unwritable" });
    expect(store.lost).toBe(0);
    for (let i = 0; i < 2; i += 1) expect(await store.commit(note("n"), "buffered")).toEqual({ won: true });
    expect(store.lost).toBe(0);
    await store.flush();
    expect([store.lost, problems.join()]).toEqual([2, expect.stringContaining("Lost: 2 writes")]);
    opened.database.exec("pragma query_only = 0");
    expect(await store.commit(note("n"), "committed")).toEqual({ won: true });
  });
});
