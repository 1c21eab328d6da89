/** What every store must do, whatever it is made of. Run it with a way to open an empty one. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Authority } from "../../src/calls/call.ts";
import type { Clock } from "../../src/calls/clock.ts";
import type { JsonObject } from "../../src/calls/json.ts";
import type { ApprovalRecord, CallRecord, Write } from "../../src/calls/records.ts";
import type { Committed, Entry, Spell, Store } from "../../src/stores/store.ts";
import { FakeClock } from "../fakes/clock.ts";
import { all, approvalOf, authority, callOf, claimOf, decideOf, eventOf, holdOf, hourMs, note, outcomeOf, recordOf, settleOf, spellPlainly } from "./records.ts";

export interface StoreOptions {
  readonly clock: Clock;
  readonly spell: Spell;
  readonly log: (problem: string) => void;
}
export type OpenStore = (options: StoreOptions) => Store | Promise<Store>;

const wins = { won: true } as const;

export function storeContract(name: string, open: OpenStore): void {
  describe(`${name}: the contract of a store`, () => {
    let clock: FakeClock;
    let store: Store;
    const problems: string[] = [];

    beforeEach(async () => {
      clock = new FakeClock();
      problems.length = 0;
      store = await open({ clock, spell: spellPlainly, log: (problem) => problems.push(problem) });
    });
    afterEach(async () => {
      await store[Symbol.asyncDispose]();
    });

    const commit = async (write: Write): Promise<Committed> => await store.commit(write, "committed");
    const state = async (key: string): Promise<string | undefined> => (await store.call({ key }))?.state;

    /** A held call: its row and its approval. */
    async function held(more: Partial<CallRecord> = {}): Promise<{ record: CallRecord; approval: ApprovalRecord }> {
      const call = callOf(store, clock);
      const wanted = { state: "held", match: `match of ${call.id}`, approvalId: `apr_${call.id}`, aliveUntil: clock.now() + hourMs } as const;
      const record = recordOf(call, { ...wanted, ...more });
      const approval = approvalOf(record);
      expect(await commit(holdOf(record, approval))).toEqual(wins);
      return { record, approval };
    }

    /** An attempted call, as the store has it. */
    async function attempted(more: Partial<CallRecord> = {}): Promise<CallRecord> {
      const record = recordOf(callOf(store, clock), { fence: store.incarnation, ...more });
      expect(await commit(claimOf(record))).toEqual(wins);
      return record;
    }

    describe("claim and settle", () => {
      it("lets one of a hundred claims of one key win, and tells the others who", async () => {
        const calls = Array.from({ length: 100 }, () => callOf(store, clock));
        const claims = calls.map((call) => recordOf(call, { key: "the-key" }));
        const answers = await Promise.all(claims.map((record) => store.commit(claimOf(record), "synced")));
        expect(answers.filter(({ won }) => won)).toHaveLength(1);
        for (const answer of answers) if (!answer.won) expect(answer.call?.call.id).toBe(calls[0]?.id);
        expect(await all(store.events({ after: -1 }))).toHaveLength(1);
      });

      it("answers a queued claim at once, and shows it at once", () => {
        const record = recordOf(callOf(store, clock));
        expect(store.commit(claimOf(record, { fresh: true }), "queued")).toEqual(wins);
        expect(store.call({ key: record.key })).toMatchObject({ state: "attempted", fence: store.incarnation });
      });

      it("writes a call that was claimed and settled in one turn once, with both its events in order", async () => {
        const record = recordOf(callOf(store, clock), { fence: store.incarnation });
        store.commit(claimOf(record, { fresh: true }), "queued");
        await store.commit(settleOf(record, "ok"), "committed");
        expect(await store.call({ key: record.key })).toEqual({ ...record, state: "ok", fence: undefined, outcome: outcomeOf(record.call) });
        const types = (await all(store.events({ after: -1 }))).map(({ body }) => JSON.parse(body).type);
        expect(types).toEqual(["attempted", "settled ok"]);
      });

      it("gives back a row exactly as it was, with every optional field and with none", async () => {
        const odd = { "": [null, true, 1.5e-7, "\u0000\u2028 “é” 😀"], __proto__x: { b: 1, a: {} } };
        const call = callOf(store, clock, { arguments: odd, parentId: "call_parent", idempotencyKey: "k", resumes: "r", action: "create" });
        const full = recordOf(call, {
          key: "full", match: "m", risk: "critical", idempotent: true, fence: store.incarnation, approvalId: "apr_1",
          aliveUntil: clock.now() + 5, startedAt: 1, endedAt: 2, retryable: true, image: "sha", outcome: { ...outcomeOf(call), structured: odd, replayed: true },
        });
        const bare = recordOf(callOf(store, clock), { risk: "safe", fence: store.incarnation });
        await commit(claimOf(full));
        await commit(claimOf(bare));
        expect(await store.calls({})).toEqual([bare, full]);
        expect(await store.call({ key: "full" })).toEqual(full);
        expect(await store.call({ key: call.id })).toEqual(full);
        expect(await store.call({ key: bare.key })).toEqual(bare);
      });

      it("finds nothing by a key that only looks like a call's", async () => {
        const record = await attempted();
        expect(await store.call({ key: `${record.key.slice(0, 20)}ffff${record.key.slice(24)}` })).toBeUndefined();
        expect(await store.call({ key: "call_" })).toBeUndefined();
        expect(await store.call({ key: "constructor" })).toBeUndefined();
      });

      it("keeps a call's id and its key apart: a key that is another call's id is a call of its own", async () => {
        const keyed = await attempted({ key: "chosen" });
        const other = recordOf(callOf(store, clock), { key: keyed.call.id, fence: store.incarnation });
        expect(await store.call({ key: keyed.call.id })).toEqual(keyed); // as long as no call has that key
        expect(await commit(claimOf(other))).toEqual(wins);
        expect(await store.call({ key: keyed.call.id })).toEqual(other);
        await commit(settleOf(other, "ok"));
        expect(await store.call({ key: keyed.call.id })).toMatchObject({ state: "ok", call: other.call });
        expect(await store.call({ key: "chosen" })).toEqual(keyed);
        expect(await commit(claimOf(recordOf(callOf(store, clock), { key: other.key })))).toMatchObject({ won: false, call: { state: "ok" } });
      });

      it("replays what ended: a second claim of the key loses and gets the outcome (case 156)", async () => {
        const record = await attempted({ key: "once" });
        await commit(settleOf(record, "ok"));
        const again = recordOf(callOf(store, clock), { key: "once" });
        expect(await commit(claimOf(again))).toMatchObject({ won: false, call: { state: "ok", outcome: { text: "sent" } } });
      });

      it("lets the same key run again after a failure that may be retried (case 159)", async () => {
        const record = await attempted({ key: "again" });
        await commit(settleOf(record, "failed", { retryable: true }));
        const second = recordOf(callOf(store, clock), { key: "again" });
        expect(await commit(claimOf(second))).toEqual(wins);
        expect(await store.call({ key: "again" })).toMatchObject({ state: "attempted", call: { id: record.call.id } });
      });

      it("does not run a key again after a failure that stands (case 160)", async () => {
        const record = await attempted({ key: "failed" });
        await commit(settleOf(record, "failed"));
        expect(await commit(claimOf(recordOf(callOf(store, clock), { key: "failed" })))).toMatchObject({ won: false, call: { state: "failed" } });
      });

      it("settles once, and only for the incarnation that attempted it", async () => {
        const record = await attempted();
        expect(await commit(settleOf({ ...record, fence: "another" }, "ok"))).toMatchObject({ won: false, call: { state: "attempted" } });
        expect(await commit(settleOf(record, "ok"))).toEqual(wins);
        expect(await commit(settleOf(record, "failed"))).toMatchObject({ won: false, call: { state: "ok" } });
        expect(await commit(settleOf(recordOf(callOf(store, clock)), "ok"))).toEqual({ won: false });
      });

      it("keeps the first arrival, its match, lifetime and approval through claims and settles", async () => {
        const { record, approval } = await held();
        await commit(decideOf(approval, "approved"));
        const second = recordOf(callOf(store, clock), { key: record.key, match: "other", approvalId: "apr_other", aliveUntil: 1 });
        expect(await commit(claimOf(second, { use: approval.id }))).toEqual(wins);
        await commit(settleOf({ ...second, fence: store.incarnation }, "ok"));
        const { call, match, aliveUntil, approvalId } = record;
        expect(await store.call({ key: record.key })).toMatchObject({ call, match, aliveUntil, approvalId, state: "ok" });
      });

      it("suspends and goes on under the same key, with its image", async () => {
        const record = await attempted({ match: "script" });
        await commit(settleOf(record, "suspended", { image: "sha" }));
        await clock.advance(10 * hourMs);
        expect(await store.call({ match: "script" })).toMatchObject({ state: "suspended", image: "sha" });
        expect(await commit(claimOf(recordOf(callOf(store, clock), { key: record.key })))).toEqual(wins);
      });
    });

    describe("unknown", () => {
      it("blocks its key and is found by match until it is settled, if the tool is not idempotent (case 158)", async () => {
        const record = await attempted({ match: "mail" });
        await commit(settleOf(record, "unknown"));
        await clock.advance(100 * hourMs);
        expect(await store.call({ match: "mail" })).toMatchObject({ key: record.key, state: "unknown" });
        expect(await commit(claimOf(recordOf(callOf(store, clock), { key: record.key })))).toMatchObject({ won: false, call: { state: "unknown" } });
        expect(await commit(settleOf({ ...record, fence: undefined }, "ok", {}, "operator"))).toEqual(wins);
        expect(await store.call({ match: "mail" })).toBeUndefined();
        expect(await state(record.key)).toBe("ok");
      });

      it("is found as long as one of two equal calls is unknown", async () => {
        const [first, second] = [await attempted({ match: "twin" }), await attempted({ match: "twin" })];
        await commit(settleOf(second, "unknown"));
        await commit(settleOf(first, "unknown"));
        expect(await store.call({ match: "twin" })).toMatchObject({ key: first.key });
        await commit(settleOf(first, "failed", {}, "operator"));
        expect(await store.call({ match: "twin" })).toMatchObject({ key: second.key });
      });

      it("runs again under its key if the tool is idempotent, and is not found by match", async () => {
        const record = await attempted({ match: "read", idempotent: true });
        await commit(settleOf(record, "unknown"));
        expect(await store.call({ match: "read" })).toBeUndefined();
        expect(await commit(claimOf(recordOf(callOf(store, clock), { key: record.key })))).toEqual(wins);
      });

      it("is settled by an operator as happened, failed, or to be run again (case 170)", async () => {
        for (const word of ["ok", "failed"] as const) {
          const record = await attempted();
          expect(await commit(settleOf(record, word, {}, "operator"))).toMatchObject({ won: false, call: { state: "attempted" } });
          await commit(settleOf(record, "unknown"));
          expect(await commit(settleOf(record, word, {}, "operator"))).toEqual(wins);
          expect(await state(record.key)).toBe(word);
          expect(await commit(settleOf(record, "failed", {}, "operator"))).toMatchObject({ won: false });
        }
        const record = await attempted();
        await commit(settleOf(record, "unknown"));
        await commit(settleOf(record, "unknown", { retryable: true }, "operator"));
        expect(await commit(claimOf(recordOf(callOf(store, clock), { key: record.key })))).toEqual(wins);
      });
    });

    describe("hold and decide", () => {
      it("holds one request for equal calls and tells the second who was first", async () => {
        const { record } = await held({ match: "same" });
        expect(await store.call({ match: "same" })).toEqual(record);
        const twin = recordOf(callOf(store, clock), { state: "held", match: "same" });
        expect(await commit(holdOf(twin, approvalOf(twin)))).toEqual({ won: false, call: record });
        expect(await store.approval(approvalOf(twin).id)).toBeUndefined();
      });

      it("does not hold a key that is held, attempted, done, denied or unknown", async () => {
        const { record } = await held();
        const running = await attempted();
        const done = await attempted();
        await commit(settleOf(done, "ok"));
        const unknown = await attempted();
        await commit(settleOf(unknown, "unknown"));
        for (const { key } of [record, running, done, unknown]) {
          const again = recordOf(callOf(store, clock), { key, state: "held" });
          expect(await commit(holdOf(again, approvalOf(again)))).toMatchObject({ won: false, call: { key } });
        }
      });

      it("never asks again for work that is done, however long ago", async () => {
        const done = await attempted({ aliveUntil: clock.now() + 1 });
        await commit(settleOf(done, "ok"));
        await clock.advance(hourMs);
        const again = recordOf(callOf(store, clock), { key: done.key, state: "held" });
        expect(await commit(holdOf(again, approvalOf(again)))).toMatchObject({ won: false, call: { state: "ok" } });
      });

      it("asks anew under the same key after a failure that may be retried, keeping the first arrival", async () => {
        const failed = await attempted({ key: "k" });
        await commit(settleOf(failed, "failed", { retryable: true }));
        const again = recordOf(callOf(store, clock), { key: "k", state: "held", match: "m", approvalId: "apr_2", aliveUntil: clock.now() + 1 });
        expect(await commit(holdOf(again, approvalOf(again)))).toEqual(wins);
        expect(await store.call({ key: "k" })).toEqual({ ...again, call: failed.call });
        expect(await store.call({ match: "m" })).toMatchObject({ key: "k" });
      });

      it("replays a denial by match until the request's lifetime ends, then asks anew", async () => {
        const { record, approval } = await held();
        const outcome = outcomeOf(record.call, "denied", "no");
        expect(await commit(decideOf(approval, "denied", outcome))).toEqual(wins);
        expect(await store.call({ match: record.match ?? "" })).toMatchObject({ state: "denied", outcome, endedAt: clock.now() });
        const again = recordOf(callOf(store, clock), { key: record.key, state: "held", approvalId: "apr_2", aliveUntil: clock.now() + 2 * hourMs });
        expect(await commit(holdOf(again, approvalOf(again)))).toMatchObject({ won: false, call: { state: "denied" } });
        await clock.advance(hourMs);
        expect(await store.call({ match: record.match ?? "" })).toBeUndefined();
        expect(await commit(holdOf(again, approvalOf(again)))).toEqual(wins);
      });

      it("lets a call run whose old denial is over, and not before", async () => {
        const { record, approval } = await held();
        await commit(decideOf(approval, "denied", outcomeOf(record.call, "denied")));
        const again = recordOf(callOf(store, clock), { key: record.key });
        expect(await commit(claimOf(again))).toMatchObject({ won: false, call: { state: "denied" } });
        await clock.advance(hourMs);
        expect(await commit(claimOf(again))).toEqual(wins);
      });

      it.each(["expired", "withdrawn"] as const)("releases the call of a request that is %s: not found by match, held anew under its key", async (end) => {
        const { record, approval } = await held();
        if (end === "expired") await clock.advance(hourMs);
        expect(await commit(decideOf(approval, end))).toEqual(wins);
        expect(await store.call({ match: record.match ?? "" })).toBeUndefined();
        const again = recordOf(callOf(store, clock), { ...record, approvalId: "apr_2", aliveUntil: clock.now() + hourMs });
        expect(await commit(holdOf({ ...again, key: record.key }, approvalOf(again)))).toEqual(wins);
        expect(await store.call({ match: record.match ?? "" })).toMatchObject({ approvalId: "apr_2" });
      });

      it("does not let the late end of an old request touch the newer one", async () => {
        const { record, approval } = await held();
        await clock.advance(hourMs);
        const again = recordOf(callOf(store, clock), { ...record, approvalId: "apr_2", aliveUntil: clock.now() + hourMs });
        expect(await commit(holdOf(again, approvalOf(again)))).toEqual(wins);
        expect(await commit(decideOf(approval, "expired"))).toEqual(wins);
        expect(await store.call({ match: record.match ?? "" })).toMatchObject({ state: "held", approvalId: "apr_2" });
      });

      it("ends each request once, whoever races: approve, deny, skip, expire, withdraw", async () => {
        for (let first = 0; first < 5; first += 1) {
          const { record, approval } = await held();
          const denied = outcomeOf(record.call, "denied");
          const ends = [decideOf(approval, "approved"), decideOf(approval, "denied", denied), decideOf(approval, "skipped", denied), decideOf(approval, "expired"), decideOf(approval, "withdrawn")];
          const order = [...ends.slice(first), ...ends.slice(0, first)];
          const answers = await Promise.all(order.map((end) => store.commit(end, "synced")));
          const winners = order.filter((_, i) => answers[i]?.won).map((write) => (write.write === "decide" ? write.approval.state : ""));
          expect(["approved,withdrawn", "denied", "skipped", "withdrawn"]).toContain(winners.join());
          for (const answer of answers) if (!answer.won) expect(answer.approval).toBeDefined();
          expect((await store.approval(approval.id))?.state).toBe(winners.at(-1));
        }
      });

      it("takes no decision after the deadline and no expiry before it", async () => {
        const { approval } = await held();
        expect(await commit(decideOf(approval, "expired"))).toMatchObject({ won: false, approval: { state: "pending" } });
        await clock.advance(hourMs);
        for (const late of ["approved", "denied", "skipped"] as const) expect((await commit(decideOf(approval, late))).won).toBe(false);
        expect(await commit(decideOf(approval, "expired"))).toEqual(wins);
      });

      it("answers a decision on an unknown request, and refuses states that are nobody's to decide", async () => {
        const { record, approval } = await held();
        expect(await commit(decideOf({ ...approval, id: "apr_none" }, "approved"))).toEqual({ won: false });
        expect(await commit(decideOf(approval, "used"))).toMatchObject({ won: false });
        expect(await commit(decideOf(approval, "pending"))).toMatchObject({ won: false });
        expect(await state(record.key)).toBe("held");
      });

      it("spends an approval with the claim that uses it, once, and only for its own call before it expires", async () => {
        const { record, approval } = await held();
        const run = recordOf(callOf(store, clock), { key: record.key });
        expect(await commit(claimOf(run, { use: approval.id }))).toMatchObject({ won: false, call: { state: "held" }, approval: { state: "pending" } });
        await commit(decideOf(approval, "approved"));
        expect(await commit(claimOf(recordOf(callOf(store, clock)), { use: approval.id }))).toMatchObject({ won: false, approval: { state: "approved" } });
        expect(await commit(claimOf(run, { use: "apr_none" }))).toMatchObject({ won: false });
        const answers = await Promise.all(Array.from({ length: 20 }, () => store.commit(claimOf(run, { use: approval.id }), "synced")));
        expect(answers.filter(({ won }) => won)).toHaveLength(1);
        expect(await store.approval(approval.id)).toEqual({ ...approval, state: "used" });
        expect(await commit(decideOf(approval, "withdrawn"))).toMatchObject({ won: false, approval: { state: "used" } });
      });

      it("does not let an approval be used that has expired or was withdrawn", async () => {
        for (const spoil of [async () => await clock.advance(hourMs), async (approval: ApprovalRecord) => void (await commit(decideOf(approval, "withdrawn")))]) {
          const { record, approval } = await held();
          await commit(decideOf(approval, "approved"));
          await spoil(approval);
          expect((await commit(claimOf(recordOf(callOf(store, clock), { key: record.key }), { use: approval.id }))).won).toBe(false);
          expect(await state(record.key)).toBe("held");
        }
      });

      it("keeps what was decided: edited arguments, who, when and why", async () => {
        const { approval } = await held();
        const decision = { as: "modified", by: "eve", via: "console", at: clock.now(), reason: "softer" } as const;
        const edited = { ...approval, arguments: { to: "carol" }, binding: "b2", decision, preview: { summary: "s", supported: true }, previewDigest: "d", summary: "w", autonomy: "A2" };
        await commit(decideOf(edited, "approved"));
        expect(await store.approval(approval.id)).toEqual({ ...edited, state: "approved" });
      });
    });

    describe("events and followers", () => {
      it("numbers events from 0 without gaps, and lost writes leave none", async () => {
        const record = await attempted();
        const writes = Array.from({ length: 300 }, (_, i) => (i % 3 === 0 ? settleOf({ ...record, fence: "x" }, "ok") : note(`n${i}`)));
        await Promise.all(writes.map((write) => store.commit(write, "committed")));
        const entries = await all(store.events({ after: -1 }));
        expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i));
        expect(entries).toHaveLength(201);
        expect((await all(store.events({ after: 150, limit: 3 }))).map(({ seq }) => seq)).toEqual([151, 152, 153]);
        expect(await all(store.events({ after: 200 }))).toEqual([]);
      });

      it("tells every follower each entry once, in order, before the commit is answered, with the same body", async () => {
        const told: Entry[] = [];
        using _ = store.follow((entries) => told.push(...entries));
        const event = eventOf("first");
        await store.commit({ write: "note", event }, "committed");
        expect(told[0]?.event).toBe(event);
        await Promise.all(Array.from({ length: 50 }, (_, i) => store.commit(note(`n${i}`), i % 2 === 0 ? "synced" : "committed")));
        expect(told.map(({ seq, body }) => ({ seq, body }))).toEqual(await all(store.events({ after: -1 })));
      });

      it("goes on when a follower throws, says so, and stops telling who has left", async () => {
        const told: number[] = [];
        const thrower = store.follow(() => {
          throw new Error("tripped");
        });
        const leaver = store.follow((entries) => told.push(entries.length));
        expect(await commit(note("a"))).toEqual(wins);
        expect(problems.join()).toContain("tripped");
        leaver[Symbol.dispose]();
        thrower[Symbol.dispose]();
        await commit(note("b"));
        expect(told).toEqual([1]);
      });

      it("lets a follower write, and tells everyone that batch after the one it is told", async () => {
        const told: number[] = [];
        using _writer = store.follow((entries) => {
          if (entries[0]?.seq === 0) store.commit(note("echo"), "queued");
          if (entries[0]?.seq === 0) void store.calls({});
        });
        using _ = store.follow((entries) => told.push(...entries.map(({ seq }) => seq)));
        await commit(note("a"));
        await commit(note("b"));
        expect(told).toEqual([0, 1, 2]);
      });
    });

    describe("documents", () => {
      const put = (id: string, expectedVersion: number, body: JsonObject = { id }): Write => ({ write: "document", kind: "token", id, body, expectedVersion, event: eventOf("put") });

      it("puts a document only over the version that was read, and tells the loser the present one", async () => {
        expect(await store.documents.get("token", "a")).toBeUndefined();
        expect(await commit(put("a", 1))).toEqual({ won: false, version: 0 });
        const answers = await Promise.all(Array.from({ length: 10 }, () => store.commit(put("a", 0), "synced")));
        expect(answers.filter(({ won }) => won)).toHaveLength(1);
        expect(answers.at(-1)).toEqual({ won: false, version: 1 });
        expect(await commit(put("a", 1, { b: [1] }))).toEqual(wins);
        expect(await store.documents.get("token", "a")).toEqual({ version: 2, body: { b: [1] } });
      });

      it("lists ids of one kind by prefix in order, whatever characters they have", async () => {
        const odd = ["b", "a", "a/1", "a/2", "a%", "A", "a_", "😀", "ｚ", "", "constructor"];
        for (const id of odd) await commit(put(id, 0));
        await commit({ write: "document", kind: "toke", id: "na", body: null, expectedVersion: 0 });
        expect(await store.documents.list("token", "")).toEqual([...odd].sort());
        expect(await store.documents.list("token", "a/")).toEqual(["a/1", "a/2"]);
        expect(await store.documents.list("token", "a%")).toEqual(["a%"]);
        expect(await store.documents.get("toke", "na")).toEqual({ version: 1, body: null });
      });

      it("keeps a document without an event out of the log", async () => {
        await commit({ write: "document", kind: "checkpoint", id: "1", body: "note", expectedVersion: 0 });
        expect(await all(store.events({ after: -1 }))).toEqual([]);
      });
    });

    describe("lists", () => {
      it("lists calls new to old, filtered and in pages", async () => {
        const other: Authority = { ...authority, runId: "run_2", principal: { tenant: "other", agent: "b" } };
        for (let i = 0; i < 9; i += 1) {
          const call = callOf(store, clock, { tool: i % 3 === 0 ? "read" : "write", authority: i % 2 === 0 ? authority : other });
          const record = recordOf(call, { fence: store.incarnation });
          store.commit(claimOf(record, { fresh: true }), "queued");
          if (i > 4) store.commit(settleOf(record, "ok"), "queued");
        }
        const numbers = async (where: Parameters<Store["calls"]>[0]): Promise<number[]> => (await store.calls(where)).map(({ call }) => call.number);
        expect(await numbers({})).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
        expect(await numbers({ before: 7, limit: 3 })).toEqual([6, 5, 4]);
        expect(await numbers({ state: "ok" })).toEqual([9, 8, 7, 6]);
        expect(await numbers({ tool: "read" })).toEqual([7, 4, 1]);
        expect(await numbers({ tenant: "other" })).toEqual([8, 6, 4, 2]);
        expect(await numbers({ runId: "run_1", state: "attempted", limit: 2 })).toEqual([5, 3]);
        expect(await numbers({ tool: "constructor" })).toEqual([]);
        expect(await numbers({ limit: 0 })).toEqual([]);
      });

      it("lists approvals old to new, filtered by state and tenant", async () => {
        const made = [await held(), await held(), await held()].map(({ approval }) => approval);
        const [first, second, third] = made.map(({ id }) => id);
        if (made[1]) await commit(decideOf(made[1], "approved"));
        const listed = async (where: Parameters<Store["approvals"]>[0]): Promise<string[]> => (await store.approvals(where)).map(({ id }) => id);
        expect(await listed({})).toEqual([first, second, third]);
        expect(await listed({ state: "pending" })).toEqual([first, third]);
        expect(await listed({ state: "approved", tenant: "default" })).toEqual([second]);
        expect(await listed({ tenant: "other" })).toEqual([]);
        expect(await listed({ limit: 1 })).toEqual([first]);
      });

      it("has nothing stranded of its own", async () => {
        await attempted();
        expect(await store.stranded()).toEqual([]);
      });
    });

    it("numbers calls upwards", () => {
      const numbers = Array.from({ length: 5 }, () => store.nextNumber());
      expect(numbers).toEqual([1, 2, 3, 4, 5]);
    });

    it("takes nothing more when it is closed", async () => {
      expect(store.broken).toBeUndefined();
      await store[Symbol.asyncDispose]();
      await expect(store.commit(note("late"), "queued")).rejects.toMatchObject({ code: "store_closed" });
      expect(store.broken).toMatchObject({ code: "store_closed" });
      await store[Symbol.asyncDispose]();
    });
  });
}
