import type { CallRecord, DurableEvent, StoreWrite } from "@postern/core";
import { childKey } from "@postern/core";
import { describe, expect, it } from "vitest";
import { type ErasingBefore, erasedEntry } from "../../store/erasing.ts";
import type { StoreUpkeep } from "../../store/store.ts";
import { all, callOf, claimOf, decideOf, eventOf, hourMs, note, outcomeOf, recordOf, settleOf } from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

/** What retention erases, for a store that has it. */
export function erasingContract(kit: StoreKit): void {
  const { commit, attempted, held } = kit;
  const keys = async (): Promise<readonly string[]> => (await kit.store.calls({})).map(({ key }) => key);

  const settled = async (more: Partial<CallRecord> = {}, end: Partial<CallRecord> = {}): Promise<CallRecord> => {
    const record = await attempted(more);
    const { state = "ok", ...rest } = end;
    expect(await commit(settleOf(record, state, { endedAt: kit.clock.now(), ...rest }))).toEqual(wins);
    return record;
  };

  /** What ended an hour ago, or earlier. */
  const hourAgo = (more: Partial<ErasingBefore> = {}): ErasingBefore => {
    const now = kit.clock.now();
    return { before: now - hourMs + 1, countedAfter: now, now, ...more };
  };

  const erase = async (kind: "calls" | "approvals", where = hourAgo()): Promise<number> => {
    const turns: number[] = [];
    for await (const erased of upkeepOf().erase(kind, where)) turns.push(erased);
    return turns.reduce((sum, erased) => sum + erased, 0);
  };

  const erasable = async (): Promise<readonly number[]> => {
    const places: number[] = [];
    for await (const some of upkeepOf().erasable(kit.clock.now())) places.push(...some);
    return places;
  };

  const upkeepOf = (): StoreUpkeep => {
    if (kit.store.upkeep === undefined) throw new Error("the store erases nothing");
    return kit.store.upkeep;
  };

  const erasing = (title: string, test: () => Promise<void>): void =>
    it(title, async () => {
      if (kit.store.upkeep !== undefined) await test();
    });

  describe("erasing", () => {
    erasing("erases calls that ended before, and keeps younger ones", async () => {
      await settled();
      await settled({}, { state: "failed" });
      await kit.clock.advance(hourMs);
      const young = await settled();
      expect(await erase("calls")).toBe(2);
      expect(await keys()).toEqual([young.key]);
      expect(await erase("calls")).toBe(0);
    });

    erasing("leaves the statistics as they are", async () => {
      const record = await attempted();
      const at = kit.clock.now();
      const { call } = record;
      const event = { moment: "ended", at, call, as: "succeeded", outcome: outcomeOf(call), latencyMs: 1 } as const;
      await commit({ ...settleOf(record, "ok", { endedAt: at }), event } as StoreWrite); // a settle has an event
      await kit.clock.advance(hourMs);
      const hourly = { period: "hour", by: ["agent"], from: 0, until: kit.clock.now() } as const;
      const counted = await kit.store.statistics(hourly);
      expect(await erase("calls")).toBe(1);
      expect([counted.length, await kit.store.statistics(hourly)]).toEqual([1, counted]);
    });

    erasing("keeps what runs, waits or is unknown", async () => {
      const open = [
        await attempted(),
        await settled({}, { state: "unknown" }),
        await settled({}, { state: "suspended" }),
      ];
      const { record } = await held({ aliveUntil: kit.clock.now() + 2 * hourMs });
      await kit.clock.advance(hourMs);
      expect([await erase("calls"), await erase("approvals")]).toEqual([0, 0]);
      expect((await keys()).toSorted()).toEqual([...open, record].map(({ key }) => key).toSorted());
    });

    erasing("keeps calls that rules count", async () => {
      const startedAt = kit.clock.now();
      await settled({ startedAt });
      await kit.clock.advance(hourMs);
      expect(await erase("calls", hourAgo({ countedAfter: startedAt - 1 }))).toBe(0);
      expect(await erase("calls", hourAgo({ countedAfter: startedAt }))).toBe(1);
    });

    erasing("empties a call with an idempotency key once; its row says that the key was used", async () => {
      const call = callOf(kit.clock, { idempotencyKey: "k", arguments: { to: "a secret place" } });
      const record = await settled({ key: "key", call });
      await kit.clock.advance(hourMs);
      expect([await erase("calls"), await erase("calls")]).toEqual([1, 0]);
      const row = await kit.store.call({ key: "key" });
      expect(row).toMatchObject({ state: "ok", erasedAt: kit.clock.now(), call: { id: call.id, arguments: {} } });
      expect([row?.outcome, JSON.stringify(row).includes("a secret place")]).toEqual([undefined, false]);
      expect(await commit(claimOf({ ...record, call: callOf(kit.clock) }))).toMatchObject({ won: false });
    });

    erasing("lets a key be used again when its request expired and was erased", async () => {
      const { record, approval } = await held({ key: "key" });
      await commit(decideOf(approval, "expired"));
      await kit.clock.advance(2 * hourMs);
      expect(await erase("calls")).toBe(1);
      const again = recordOf(callOf(kit.clock), { key: "key", fence: kit.store.incarnation });
      expect(await commit(claimOf(again))).toEqual(wins);
      expect(await commit(settleOf(again, "ok"))).toEqual(wins);
      expect(await kit.store.call({ key: record.call.id })).toBeUndefined();
      expect(await kit.state("key")).toBe("ok");
    });

    erasing("keeps the calls of a call that may be sent again, until that one is erased", async () => {
      const parent = await attempted({ key: "parent", call: callOf(kit.clock, { idempotencyKey: "k" }) });
      const call = callOf(kit.clock, { parentId: parent.call.id, idempotencyKey: childKey("parent", 1) });
      await settled({ key: "child", call });
      await kit.clock.advance(hourMs);
      await commit(settleOf(parent, "ok", { endedAt: kit.clock.now() }));
      expect(await erase("calls")).toBe(0);
      await kit.clock.advance(hourMs);
      expect((await erase("calls")) + (await erase("calls"))).toBe(2);
      expect(await keys()).toEqual([parent.key]);
    });

    erasing("erases no call that begins to run again between two turns", async () => {
      const records = Array.from({ length: 300 }, () => recordOf(callOf(kit.clock), { fence: kit.store.incarnation }));
      for (const record of records) {
        await kit.store.commit(claimOf(record), "buffered");
        await kit.store.commit(settleOf(record, "failed", { retryable: true, endedAt: kit.clock.now() }), "buffered");
      }
      await kit.clock.advance(hourMs);
      const again = records.at(-1);
      if (again === undefined) throw new Error("there is a call");
      const turns = upkeepOf().erase("calls", hourAgo())[Symbol.asyncIterator]();
      let erased = 0;
      for (let turn = await turns.next(); turn.done !== true; turn = await turns.next()) {
        if (erased === 0) expect(await kit.store.commit(claimOf(again), "buffered")).toMatchObject({ won: true });
        erased += turn.value;
      }
      expect(erased).toBe(299);
      await commit(settleOf(again, "ok"));
      expect((await kit.store.calls({})).map(({ key, state }) => [key, state])).toEqual([[again.key, "ok"]]);
    });

    erasing("erases requests that were decided or have expired, and counts only what is left", async () => {
      const [decided, late, waits] = [
        await held(),
        await held(),
        await held({ aliveUntil: kit.clock.now() + 9 * hourMs }),
      ];
      await commit(decideOf(decided.approval, "denied"));
      await commit(decideOf(late.approval, "expired"));
      await kit.clock.advance(2 * hourMs);
      await erase("calls");
      expect(await erase("approvals", hourAgo({ before: kit.clock.now() - hourMs / 2 }))).toBe(2);
      expect((await kit.store.approvals({})).map(({ id }) => id)).toEqual([waits.approval.id]);
      const { requests } = await kit.store.counts({});
      expect(Object.entries(requests).filter(([, count]) => count > 0)).toEqual([["pending", 1]]);
      expect(await kit.store.groups({ by: [] })).toMatchObject([{ waiting: 1 }]);
    });

    erasing("keeps a request of a call that runs", async () => {
      const { record, approval } = await held();
      await commit(decideOf(approval, "approved"));
      const running = { ...record, state: "attempted", fence: kit.store.incarnation } as const;
      expect(await commit(claimOf(running, { use: approval.id }))).toEqual(wins);
      await kit.clock.advance(3 * hourMs);
      expect(await erase("approvals")).toBe(0);
      await commit(settleOf(running, "ok", { endedAt: kit.clock.now() }));
      expect(await erase("approvals")).toBe(1);
    });

    erasing("needs the artifacts of an erased call no longer", async () => {
      const digest = "a".repeat(64);
      const more = { arguments: { file: { $artifact: digest } }, idempotencyKey: "k" };
      await settled({ key: "key", call: callOf(kit.clock, more) });
      await kit.clock.advance(hourMs);
      expect([...(await kit.store.needed([digest]))]).toEqual([digest]);
      await erase("calls");
      expect([...(await kit.store.needed([digest]))]).toEqual([]);
    });

    erasing("keeps only the digest of old entries about calls that have ended", async () => {
      const done = await settled();
      const open = await attempted();
      const first = (await all(kit.store.events({ after: -1 }))).length;
      for (const key of [done.key, open.key]) await commit({ write: "note", event: entryAbout(key) });
      await commit(note("operator.action.tested"));
      await commit({ write: "note", event: entryAbout("a call that is gone") });
      await kit.clock.advance(hourMs);
      await commit({ write: "note", event: entryAbout(done.key) });
      const before = await all(kit.store.events({ after: first - 1 }));
      const places = await erasable();
      expect(places).toEqual([first, first + 3]);
      for (let i = 0; i < 2; i += 1) await upkeepOf().eraseEntries(places); // also after a kill
      const left = await all(kit.store.events({ after: first - 1 }));
      expect(left).toEqual(
        before.map(({ seq, body }) => ({ seq, body: places.includes(seq) ? erasedEntry(body) : body })),
      );
      expect(await erasable()).toEqual([]);
    });

    erasing("says what each kind takes", async () => {
      await settled();
      await held();
      await commit({ write: "document", kind: "kind", id: "id", body: "some text", expectedVersion: 0 });
      const sizes = await upkeepOf().sizes();
      expect(sizes.map(({ kind, bytes }) => [kind, bytes > 0])).toEqual(
        ["calls", "approvals", "events", "documents"].map((kind) => [kind, true]),
      );
    });
  });

  /** Stored as the audit log stores an entry about a call. */
  function entryAbout(key: string): DurableEvent {
    const call = { type: "tool_call.attempted", refs: { key }, timestamp: new Date(kit.clock.now()).toISOString() };
    return Object.assign(eventOf("told", kit.clock.now()), { call, context: {} });
  }
}
