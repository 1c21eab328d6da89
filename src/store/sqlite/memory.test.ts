import { describe, expect, it } from "vitest";
import { all, callOf, claimOf, eventOf, note, recordOf, spellPlainly } from "../../../test/contracts/records.ts";
import { FakeClock, settled } from "../../../test/fakes/clock.ts";
import type { SerializeEvent } from "../store.ts";
import { openDatabase } from "./open.ts";
import { openSqliteStore, SqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";

function openMemory(options: Partial<SqliteStoreOptions>): SqliteStore {
  return openSqliteStore({ location: ":memory:", clock: new FakeClock(), spell: spellPlainly, ...options });
}

/** Time goes on within a turn. */
class TurnClock extends FakeClock {
  passedMs = 0;

  override monotonic(): number {
    return this.passedMs;
  }
}

describe("SqliteStore in memory, where nobody waits for a disk", () => {
  it("answers in memory at once, tells of it before that, and finds it before it is written", async () => {
    const clock = new FakeClock();
    await using store = openMemory({ clock });
    const told: number[] = [];
    using _ = store.follow((entries) => told.push(...entries.map(({ seq }) => seq)));
    const claimed = Array.from({ length: 3 }, (_, i) => recordOf(callOf(clock), { key: `key_${i}` }));
    for (const [i, record] of claimed.entries()) {
      expect(await store.commit(claimOf(record, { fresh: true }), "synced")).toEqual({ won: true });
      expect(told).toHaveLength(i + 1);
      expect((await store.call({ key: record.key }))?.state).toBe("attempted");
    }
    expect(await store.commit(claimOf(recordOf(callOf(clock), { key: "key_0" })), "synced")).toMatchObject({
      won: false,
      call: { key: "key_0" },
    });
    expect((await all(store.events({ after: -1 }))).map(({ seq }) => seq)).toEqual([0, 1, 2]);
    expect(await store.calls({})).toHaveLength(3);
    store.commit(note("nobody waits"), "queued");
    expect(told).toHaveLength(3);
    await settled(1);
    expect(told).toEqual([0, 1, 2, 3]);
  });

  it("lets sockets and timers have their turn also in memory, where nobody waits for a disk", async () => {
    const clock = new TurnClock();
    await using store = openMemory({ clock });
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    expect(await store.commit(note("first"), "committed")).toEqual({ won: true });
    clock.passedMs = 5;
    const late = store.commit(note("late"), "committed");
    expect([late instanceof Promise, await late, turned]).toEqual([true, { won: true }, true]);
  });

  it("refuses in memory the write whose event cannot be spelled, and its neighbours stay (case 198)", async () => {
    let speechless = false;
    const spell: SerializeEvent = (event) => {
      if (speechless) throw new Error("no words");
      return spellPlainly(event);
    };
    await using store = openMemory({ clock: new FakeClock(), spell });
    expect(await store.commit(note("a"), "committed")).toEqual({ won: true });
    speechless = true;
    const ordinary = { write: "note", event: { ...eventOf("b"), moment: "attempted" } as never } as const;
    for (const write of [note("b"), ordinary])
      await expect(store.commit(write, "committed")).rejects.toMatchObject({ code: "store_unwritable" });
    speechless = false;
    expect(await store.commit(note("c"), "committed")).toEqual({ won: true });
    expect((await all(store.events({ after: -1 }))).map(({ seq }) => seq)).toEqual([0, 1]);
  });

  it("stops when memory does not keep what it had taken, and tells whoever was not answered yet", async () => {
    const opened = openDatabase(":memory:", () => {});
    const problems: string[] = [];
    const clock = new TurnClock();
    const log = (problem: string): unknown => problems.push(problem);
    await using store = new SqliteStore(opened, { clock, spell: spellPlainly, log });
    expect(await store.commit(note("a"), "committed")).toEqual({ won: true });
    opened.database.exec("pragma query_only = 1");
    clock.passedMs = 5;
    await expect(store.commit(note("b"), "committed")).rejects.toMatchObject({ code: "store_unwritable" });
    expect(store.broken).toMatchObject({ code: "store_broken" });
    expect(problems.join()).toContain("What was kept in memory is lost");
    await expect(store.commit(note("c"), "committed")).rejects.toMatchObject({ code: "store_broken" });
  });

  it("gathers the writes of several turns in one transaction, and leaves nobody waiting for it or without word of it", async () => {
    const opened = openDatabase(":memory:", () => {});
    const clock = new TurnClock();
    await using store = new SqliteStore(opened, { clock, spell: spellPlainly });
    const told: number[] = [];
    using _ = store.follow((entries) => told.push(...entries.map(({ seq }) => seq)));
    const written = (): unknown => opened.database.prepare("select count(*) as n from event").get()?.["n"];
    for (let turn = 0; turn < 31; turn++) {
      expect(await store.commit(note("n"), turn % 2 === 0 ? "committed" : "queued")).toEqual({ won: true });
      await settled(1);
      expect([told.length, written()]).toEqual([turn + 1, 0]);
    }
    expect(await store.commit(note("enough"), "committed")).toEqual({ won: true });
    await settled(1);
    expect(written()).toBe(32);
    void store.commit(note("first"), "committed");
    clock.passedMs += 5;
    await store.commit(note("late, and waited for"), "committed");
    expect(written()).toBe(34);
    void store.commit(note("read"), "committed");
    await settled(1);
    expect(await all(store.events({ after: 33 }))).toHaveLength(1);
    expect(written()).toBe(35);
  });

  it("tells the one whose write fills a batch that memory did not keep it", async () => {
    const opened = openDatabase(":memory:", () => {});
    await using store = new SqliteStore(opened, { clock: new FakeClock(), spell: spellPlainly });
    opened.database.exec("pragma query_only = 1");
    for (let i = 0; i < 63; i += 1) void store.commit(note("n"), "committed");
    await expect(store.commit(note("last"), "committed")).rejects.toMatchObject({ code: "store_broken" });
  });
});
