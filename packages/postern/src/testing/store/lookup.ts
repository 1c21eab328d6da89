import type { StoreWrite } from "@postern/core";
import { describe, expect, it } from "vitest";
import { all, callOf, claimOf, decideOf, eventOf, outcomeOf, recordOf, settleOf } from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

const minuteMs = 60_000;

/** The ids that find a call, lists after an expiry, and the grant that a decision makes. */
export function lookupContract(kit: StoreKit): void {
  const { commit, held } = kit;

  describe("a call by the ids that its callers received", () => {
    const left = async (state: "unknown" | "ok"): Promise<{ key: string; first: string; later: string }> => {
      const { record } = await held({ key: `key_${callOf(kit.clock).id}` });
      const again = callOf(kit.clock);
      await commit(claimOf({ ...record, state: "attempted", fence: kit.store.incarnation }));
      const fence = kit.store.incarnation;
      await commit(settleOf({ ...record, fence }, state, { outcome: outcomeOf(again, "error") }));
      return { key: record.key, first: record.call.id, later: again.id };
    };

    it("is found by its key, its first arrival and the arrival that left it unknown, and by no other", async () => {
      const { key, first, later } = await left("unknown");
      for (const id of [key, first, later]) expect(await kit.store.call({ key: id })).toMatchObject({ key });
      expect(await kit.store.call({ key: callOf(kit.clock).id })).toBeUndefined();
      const ended = await left("ok");
      expect(await kit.store.call({ key: ended.first })).toMatchObject({ key: ended.key });
      expect(await kit.store.call({ key: ended.later })).toBeUndefined();
    });

    it("is found by the arrival that left it unknown until it is settled", async () => {
      const { key, first, later } = await left("unknown");
      const record = await kit.store.call({ key });
      if (record === undefined) throw new Error("it is gone");
      await commit(settleOf(record, "ok", { outcome: outcomeOf(record.call) }, "operator"));
      expect(await kit.store.call({ key: later })).toBeUndefined();
      expect(await kit.store.call({ key: first })).toMatchObject({ key, state: "ok" });
    });

    it("is another call if its own key equals an arrival's id", async () => {
      const { later } = await left("unknown");
      const own = recordOf(callOf(kit.clock, { id: later }), { fence: kit.store.incarnation });
      expect(await commit(claimOf(own))).toEqual(wins);
    });
  });

  describe("a list of approved and of expired requests", () => {
    it("follows the time: an approval not used in time is expired and not approved", async () => {
      const approve = async (ttlMs: number): Promise<string> => {
        const { approval } = await held({ aliveUntil: kit.clock.now() + ttlMs });
        await commit(decideOf(approval, "approved"));
        return approval.id;
      };
      const listed = async (state: "approved" | "expired" | "pending"): Promise<readonly string[]> =>
        (await kit.store.approvals({ state })).map(({ id }) => id);
      const [soon, later] = [await approve(minuteMs), await approve(10 * minuteMs)];
      const { approval: waits } = await held({ aliveUntil: kit.clock.now() + minuteMs });
      expect([await listed("approved"), await listed("expired")]).toEqual([[soon, later], []]);
      await kit.clock.advance(minuteMs);
      expect([await listed("approved"), await listed("expired")]).toEqual([[later], [soon, waits.id]]);
      expect(await listed("pending")).toEqual([waits.id]); // whoever watches over the time must find it
      expect(await kit.store.approvals({ state: "expired", after: soon })).toMatchObject([{ id: waits.id }]);
    });
  });

  describe("a decision", () => {
    it("makes a decision and its grant true together, or neither, each with its event", async () => {
      const { approval } = await held();
      const addedDocument = { kind: "grant", id: "grt_1", body: { tool: "t" }, event: eventOf("grant.made") };
      const yes = { ...decideOf(approval, "approved"), addedDocument } as StoreWrite;
      const remembered = () => kit.store.documents.get("grant", "grt_1");
      const told = async () => (await all(kit.store.events({ after: -1 }))).map(({ body }) => JSON.parse(body).type);
      expect(await commit({ ...yes, expectedRevision: 7 } as StoreWrite)).toMatchObject({ won: false });
      expect([await remembered(), await told()]).toEqual([undefined, ["held"]]);
      expect(await commit(yes)).toEqual(wins);
      expect(await remembered()).toEqual({ version: 1, body: { tool: "t" } });
      expect(await told()).toEqual(["held", "decided approved", "grant.made"]);

      const { approval: other } = await held();
      expect(await commit({ ...decideOf(other, "approved"), addedDocument } as StoreWrite)).toMatchObject({
        won: false,
        version: 1,
      });
      expect(await kit.store.approval(other.id)).toMatchObject({ state: "pending" });
      expect(await told()).toHaveLength(4);
    });
  });
}
