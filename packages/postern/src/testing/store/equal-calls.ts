import type { CallRecord } from "@postern/core";
import { describe, expect, it } from "vitest";
import { approvalOf, callOf, claimOf, holdOf, hourMs, recordOf, settleOf } from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

/** Calls with equal arguments are one call without a key, and several calls with keys. */
export function equalCallsContract(kit: StoreKit): void {
  const { commit } = kit;
  const plain = (more: Partial<CallRecord> = {}): CallRecord =>
    recordOf(callOf(kit.clock), { match: "twin", fence: kit.store.incarnation, ...more });
  const keyed = (idempotencyKey: string, more: Partial<CallRecord> = {}): CallRecord => {
    const call = callOf(kit.clock, { idempotencyKey });
    return recordOf(call, { match: "twin", fence: kit.store.incarnation, key: `key_${idempotencyKey}`, ...more });
  };
  const hold = (record: CallRecord): ReturnType<typeof commit> => {
    const aliveUntil = kit.clock.now() + hourMs;
    const held: CallRecord = { ...record, state: "held", approvalId: `apr_${record.key}`, aliveUntil };
    return commit(holdOf(held, approvalOf(held)));
  };

  describe("calls with equal arguments", () => {
    it("do not start a second time while one without a key is attempted", async () => {
      const first = plain();
      expect(await commit(claimOf(first))).toEqual(wins);
      expect(await kit.store.call({ match: "twin" })).toMatchObject({ key: first.key, state: "attempted" });
      expect(await commit(claimOf(plain()))).toMatchObject({ won: false, call: { key: first.key } });
      await commit(settleOf(first, "ok"));
      expect(await commit(claimOf(plain()))).toEqual(wins);
    });

    it("start in parallel if a second run does no harm", async () => {
      expect(await commit(claimOf(plain({ idempotent: true })))).toEqual(wins);
      expect(await kit.store.call({ match: "twin" })).toBeUndefined();
      expect(await commit(claimOf(plain({ idempotent: true })))).toEqual(wins);
    });

    it("start in parallel if they are of one batch", async () => {
      const first = plain();
      await commit(claimOf(first));
      const batch = new Set([first.key]);
      const second = recordOf(callOf(kit.clock, { batch }), { match: "twin" });
      expect(await kit.store.call({ match: "twin", except: batch })).toBeUndefined();
      expect(await commit(claimOf(second))).toEqual(wins);
    });

    it("are several calls if each has a key: each is asked about, each starts", async () => {
      for (const key of ["a", "b"]) expect(await hold(keyed(key))).toEqual(wins);
      for (const key of ["c", "d"]) expect(await commit(claimOf(keyed(key)))).toEqual(wins);
      expect(await hold(keyed("e"))).toEqual(wins);
    });

    it("without a key are asked about separately while one with a key waits", async () => {
      await hold(keyed("a"));
      expect(await kit.store.call({ match: "twin" })).toBeUndefined();
      expect(await hold(plain())).toEqual(wins);
      expect(await hold(plain())).toMatchObject({ won: false });
    });

    it("without a key do not start while one with a key may have had its effect", async () => {
      const first = keyed("a");
      await commit(claimOf(first));
      expect(await commit(claimOf(plain()))).toMatchObject({ won: false, call: { key: first.key } });
      await commit(settleOf(first, "unknown"));
      expect(await kit.store.call({ match: "twin" })).toMatchObject({ key: first.key });
      expect(await hold(plain())).toMatchObject({ won: false, call: { key: first.key, state: "unknown" } });
      expect(await commit(claimOf(plain()))).toMatchObject({ won: false, call: { key: first.key } });
      expect(await commit(claimOf(keyed("b")))).toEqual(wins);
    });

    it("are found as long as one of them is unknown", async () => {
      const [first, second] = [plain(), keyed("b")];
      for (const record of [first, second]) await commit(claimOf(record));
      for (const record of [second, first]) await commit(settleOf(record, "unknown"));
      expect(await kit.store.call({ match: "twin" })).toMatchObject({ key: first.key });
      await commit(settleOf(first, "failed", {}, "operator"));
      expect(await kit.store.call({ match: "twin" })).toMatchObject({ key: second.key });
    });
  });
}
