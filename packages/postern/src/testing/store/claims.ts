import { describe, expect, it } from "vitest";
import {
  all,
  approvalOf,
  callOf,
  claimOf,
  decideOf,
  holdOf,
  hourMs,
  note,
  outcomeOf,
  recordOf,
  settleOf,
} from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

/** A key has at most one execution. A finished call is replayed, and an unknown one blocks its key. */
export function claimContract(kit: StoreKit): void {
  const { commit, state, held, attempted } = kit;

  describe("claim and settle", () => {
    it("lets one of a hundred claims of one key win, and returns the winner to the others", async () => {
      const calls = Array.from({ length: 100 }, () => callOf(kit.clock));
      const claims = calls.map((call) => recordOf(call, { key: "the-key" }));
      const answers = await Promise.all(claims.map((record) => kit.store.commit(claimOf(record), "synced")));
      expect(answers.filter(({ won }) => won)).toHaveLength(1);
      for (const answer of answers) if (!answer.won) expect(answer.call?.call.id).toBe(calls[0]?.id);
      expect(await all(kit.store.events({ after: -1 }))).toHaveLength(1);
    });

    it.each(["queued", "buffered"] as const)("answers a %s claim at once, and shows it at once", async (durability) => {
      const record = recordOf(callOf(kit.clock));
      expect(await kit.store.commit(claimOf(record, { fresh: true }), durability)).toEqual(wins);
      expect(await kit.store.commit(claimOf(record), durability)).toMatchObject({ won: false });
      expect(await kit.store.call({ key: record.key })).toMatchObject({
        state: "attempted",
        fence: kit.store.incarnation,
      });
    });

    it("writes a call claimed and settled in one turn once, with both events in order", async () => {
      const record = recordOf(callOf(kit.clock), { fence: kit.store.incarnation });
      void kit.store.commit(claimOf(record, { fresh: true }), "queued");
      await kit.store.commit(settleOf(record, "ok"), "committed");
      expect(await kit.store.call({ key: record.key })).toEqual({
        ...record,
        state: "ok",
        fence: undefined,
        endedAt: 0,
        outcome: outcomeOf(record.call),
      });
      const types = (await all(kit.store.events({ after: -1 }))).map(({ body }) => JSON.parse(body).type);
      expect(types).toEqual(["attempted", "settled ok"]);
    });

    it("keeps what is buffered before what is committed after it", async () => {
      const record = recordOf(callOf(kit.clock), { fence: kit.store.incarnation });
      void kit.store.commit(claimOf(record, { fresh: true }), "buffered");
      expect(await kit.store.commit(settleOf(record, "ok"), "buffered")).toEqual(wins);
      await kit.store.commit(note("after"), "committed");
      const types = (await all(kit.store.events({ after: -1 }))).map(({ body }) => JSON.parse(body).type);
      expect(types).toEqual(["attempted", "settled ok", "after"]);
      expect(kit.store.lost).toBe(0);
    });

    it("gives back a row exactly as it was, with every optional field and with none", async () => {
      const odd = {
        "": [null, true, 1.5e-7, "\u0000\u2028 “é” 😀"],
        __proto__x: { b: 1, a: {} },
      };
      const call = callOf(kit.clock, {
        arguments: odd,
        parentId: "call_parent",
        idempotencyKey: "k",
        resumes: "r",
        action: "create",
      });
      const full = recordOf(call, {
        key: "full",
        match: "m",
        risk: "critical",
        idempotent: true,
        fence: kit.store.incarnation,
        approvalId: "apr_1",
        aliveUntil: kit.clock.now() + 5,
        startedAt: 1,
        endedAt: 2,
        retryable: true,
        image: "sha",
        paused: { ranMs: 3, waitedMs: 4 },
        endUnseen: true,
        outcome: { ...outcomeOf(call), structured: odd, replayed: true },
      });
      const bare = recordOf(callOf(kit.clock), {
        risk: "safe",
        fence: kit.store.incarnation,
      });
      await commit(claimOf(full));
      await commit(claimOf(bare));
      expect(await kit.store.calls({})).toEqual([bare, full]);
      expect(await kit.store.call({ key: "full" })).toEqual(full);
      expect(await kit.store.call({ key: call.id })).toEqual(full);
      expect(await kit.store.call({ key: bare.key })).toEqual(bare);
    });

    it("keeps of a call in flight only its fields: a row is data", async () => {
      const plain = recordOf(callOf(kit.clock), {
        fence: kit.store.incarnation,
        match: "who\0what",
      });
      const flying = Object.assign({ ...plain.call }, { found: { run: () => "code" }, record: plain });
      Object.assign(flying, { claimed: { ...plain, call: flying } });
      void kit.store.commit(claimOf({ ...plain, call: flying }, { fresh: true }), "queued");
      for (let look = 0; look < 2; look += 1) {
        expect(JSON.stringify(await kit.store.call({ key: plain.key }))).not.toContain("claimed");
        expect(await kit.store.call({ key: plain.key })).toEqual(plain);
        await commit(note("written"));
      }
      const held = recordOf(callOf(kit.clock), {
        state: "held",
        approvalId: "apr_1",
        match: "who\0else",
      });
      await commit(holdOf({ ...held, call: Object.assign({ ...held.call }, { record: plain }) }, approvalOf(held)));
      expect(await kit.store.call({ match: "who\0else" })).toEqual(held);
    });

    it("finds nothing by a key that only resembles a call's", async () => {
      const record = await attempted();
      expect(await kit.store.call({ key: `${record.key.slice(0, 20)}ffff${record.key.slice(24)}` })).toBeUndefined();
      expect(await kit.store.call({ key: "call_" })).toBeUndefined();
      expect(await kit.store.call({ key: "constructor" })).toBeUndefined();
    });

    it("keeps a call's id and its key apart: a key equal to another call's id is another call", async () => {
      const keyed = await attempted({ key: "chosen" });
      const other = recordOf(callOf(kit.clock), {
        key: keyed.call.id,
        fence: kit.store.incarnation,
      });
      expect(await kit.store.call({ key: keyed.call.id })).toEqual(keyed); // as long as no call has that key
      expect(await commit(claimOf(other))).toEqual(wins);
      expect(await kit.store.call({ key: keyed.call.id })).toEqual(other);
      await commit(settleOf(other, "ok"));
      expect(await kit.store.call({ key: keyed.call.id })).toMatchObject({
        state: "ok",
        call: other.call,
      });
      expect(await kit.store.call({ key: "chosen" })).toEqual(keyed);
      expect(await commit(claimOf(recordOf(callOf(kit.clock), { key: other.key })))).toMatchObject({
        won: false,
        call: { state: "ok" },
      });
    });

    it("replays what ended: a second claim of the key loses and gets the outcome (case 156)", async () => {
      const record = await attempted({ key: "once" });
      await commit(settleOf(record, "ok"));
      const again = recordOf(callOf(kit.clock), { key: "once" });
      expect(await commit(claimOf(again))).toMatchObject({
        won: false,
        call: { state: "ok", outcome: { text: "sent" } },
      });
    });

    it("lets the same key run again after a failure that may be retried (case 159)", async () => {
      const record = await attempted({ key: "again" });
      await commit(settleOf(record, "failed", { retryable: true }));
      const second = recordOf(callOf(kit.clock), { key: "again" });
      expect(await commit(claimOf(second))).toEqual(wins);
      expect(await kit.store.call({ key: "again" })).toMatchObject({
        state: "attempted",
        call: { id: record.call.id },
      });
    });

    it("does not run a key again after a final failure (case 160)", async () => {
      const record = await attempted({ key: "failed" });
      await commit(settleOf(record, "failed"));
      expect(await commit(claimOf(recordOf(callOf(kit.clock), { key: "failed" })))).toMatchObject({
        won: false,
        call: { state: "failed" },
      });
    });

    it("settles once, and only for the incarnation that attempted it", async () => {
      const record = await attempted();
      expect(await commit(settleOf({ ...record, fence: "another" }, "ok"))).toMatchObject({
        won: false,
        call: { state: "attempted" },
      });
      expect(await commit(settleOf(record, "ok"))).toEqual(wins);
      expect(await commit(settleOf(record, "failed"))).toMatchObject({
        won: false,
        call: { state: "ok" },
      });
      expect(await commit(settleOf(recordOf(callOf(kit.clock)), "ok"))).toEqual({
        won: false,
      });
    });

    it("keeps the first arrival, its match, lifetime and approval through claims and settles", async () => {
      const { record, approval } = await held();
      await commit(decideOf(approval, "approved"));
      const second = recordOf(callOf(kit.clock), {
        key: record.key,
        match: "other",
        approvalId: "apr_other",
        aliveUntil: 1,
      });
      expect(await commit(claimOf(second, { use: approval.id }))).toEqual(wins);
      await commit(settleOf({ ...second, fence: kit.store.incarnation }, "ok"));
      const { call, match, aliveUntil, approvalId } = record;
      expect(await kit.store.call({ key: record.key })).toMatchObject({
        call,
        match,
        aliveUntil,
        approvalId,
        state: "ok",
      });
    });

    it("suspends and resumes under the same key, with its image", async () => {
      const record = await attempted({ match: "script" });
      await commit(settleOf(record, "suspended", { image: "sha" }));
      await kit.clock.advance(10 * hourMs);
      expect(await kit.store.call({ match: "script" })).toMatchObject({
        state: "suspended",
        image: "sha",
      });
      expect(await commit(claimOf(recordOf(callOf(kit.clock), { key: record.key })))).toEqual(wins);
    });

    it("adds up how long a call ran and waited each time it was suspended", async () => {
      const { key } = await attempted({ startedAt: 1_000 });
      const row = { ...recordOf(callOf(kit.clock), { key }), fence: kit.store.incarnation };
      await commit(settleOf(row, "suspended", { endedAt: 1_005 }));
      await commit(claimOf({ ...row, startedAt: 1_105 }));
      expect(await kit.store.call({ key })).toMatchObject({ paused: { ranMs: 5, waitedMs: 100 } });
      await commit(settleOf(row, "suspended", { endedAt: 1_112 }));
      await commit(claimOf({ ...row, startedAt: 1_312 }));
      await commit(settleOf(row, "ok", { endedAt: 1_313, endUnseen: true }));
      const total = { startedAt: 1_312, endedAt: 1_313, paused: { ranMs: 12, waitedMs: 300 }, endUnseen: true };
      expect(await kit.store.call({ key })).toMatchObject(total);
    });
  });

  describe("unknown", () => {
    it("blocks its key and is found by match until it is settled, if the tool is not idempotent (case 158)", async () => {
      const record = await attempted({ match: "mail" });
      await commit(settleOf(record, "unknown"));
      await kit.clock.advance(100 * hourMs);
      expect(await kit.store.call({ match: "mail" })).toMatchObject({
        key: record.key,
        state: "unknown",
      });
      expect(await commit(claimOf(recordOf(callOf(kit.clock), { key: record.key })))).toMatchObject({
        won: false,
        call: { state: "unknown" },
      });
      expect(await commit(settleOf({ ...record, fence: undefined }, "ok", {}, "operator"))).toEqual(wins);
      expect(await kit.store.call({ match: "mail" })).toBeUndefined();
      expect(await state(record.key)).toBe("ok");
    });

    it("runs again under its key if the tool is idempotent, and is not found by match", async () => {
      const record = await attempted({ match: "read", idempotent: true });
      await commit(settleOf(record, "unknown"));
      expect(await kit.store.call({ match: "read" })).toBeUndefined();
      expect(await commit(claimOf(recordOf(callOf(kit.clock), { key: record.key })))).toEqual(wins);
    });

    it("is settled by an operator as happened, failed, or to be run again (case 170)", async () => {
      for (const word of ["ok", "failed"] as const) {
        const record = await attempted();
        expect(await commit(settleOf(record, word, {}, "operator"))).toMatchObject({
          won: false,
          call: { state: "attempted" },
        });
        await commit(settleOf(record, "unknown"));
        expect(await commit(settleOf(record, word, {}, "operator"))).toEqual(wins);
        expect(await state(record.key)).toBe(word);
        expect(await commit(settleOf(record, "failed", {}, "operator"))).toMatchObject({
          won: false,
        });
      }
      const record = await attempted();
      await commit(settleOf(record, "unknown"));
      await commit(settleOf(record, "unknown", { retryable: true }, "operator"));
      expect(await commit(claimOf(recordOf(callOf(kit.clock), { key: record.key })))).toEqual(wins);
    });
  });
}
