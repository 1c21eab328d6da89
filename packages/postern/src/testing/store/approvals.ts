import type { ApprovalRecord } from "@postern/core";
import { describe, expect, it } from "vitest";
import { approvalOf, callOf, claimOf, decideOf, holdOf, hourMs, outcomeOf, recordOf, settleOf } from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

/** A call has one request, a request has one end, and an approval has one use. */
export function approvalContract(kit: StoreKit): void {
  const { commit, state, held, attempted } = kit;

  describe("hold and decide", () => {
    it("holds one request for equal calls and returns the first to the second caller", async () => {
      const { record } = await held({ match: "same" });
      expect(await kit.store.call({ match: "same" })).toEqual(record);
      const twin = recordOf(callOf(kit.clock), { state: "held", match: "same" });
      expect(await commit(holdOf(twin, approvalOf(twin)))).toEqual({ won: false, call: record });
      expect(await kit.store.approval(approvalOf(twin).id)).toBeUndefined();
    });

    it("does not hold a key that is held, attempted, done, denied or unknown", async () => {
      const { record } = await held();
      const running = await attempted();
      const done = await attempted();
      await commit(settleOf(done, "ok"));
      const unknown = await attempted();
      await commit(settleOf(unknown, "unknown"));
      for (const { key } of [record, running, done, unknown]) {
        const again = recordOf(callOf(kit.clock), { key, state: "held" });
        expect(await commit(holdOf(again, approvalOf(again)))).toMatchObject({
          won: false,
          call: { key },
        });
      }
    });

    it("never asks again for finished work, however long ago", async () => {
      const done = await attempted({ aliveUntil: kit.clock.now() + 1 });
      await commit(settleOf(done, "ok"));
      await kit.clock.advance(hourMs);
      const again = recordOf(callOf(kit.clock), { key: done.key, state: "held" });
      expect(await commit(holdOf(again, approvalOf(again)))).toMatchObject({
        won: false,
        call: { state: "ok" },
      });
    });

    it("asks again under the same key after a failure that may be retried, keeping the first arrival", async () => {
      const failed = await attempted({ key: "k" });
      await commit(settleOf(failed, "failed", { retryable: true }));
      const again = recordOf(callOf(kit.clock), {
        key: "k",
        state: "held",
        match: "m",
        approvalId: "apr_2",
        aliveUntil: kit.clock.now() + 1,
      });
      expect(await commit(holdOf(again, approvalOf(again)))).toEqual(wins);
      expect(await kit.store.call({ key: "k" })).toEqual({ ...again, call: failed.call });
      expect(await kit.store.call({ match: "m" })).toMatchObject({ key: "k" });
    });

    it("replays a denial by match until the request's lifetime ends, then asks again", async () => {
      const { record, approval } = await held();
      const outcome = outcomeOf(record.call, "denied", "no");
      expect(await commit(decideOf(approval, "denied", outcome))).toEqual(wins);
      expect(await kit.store.call({ match: record.match ?? "" })).toMatchObject({
        state: "denied",
        outcome,
        endedAt: kit.clock.now(),
      });
      const again = recordOf(callOf(kit.clock), {
        key: record.key,
        state: "held",
        approvalId: "apr_2",
        aliveUntil: kit.clock.now() + 2 * hourMs,
      });
      expect(await commit(holdOf(again, approvalOf(again)))).toMatchObject({
        won: false,
        call: { state: "denied" },
      });
      await kit.clock.advance(hourMs);
      expect(await kit.store.call({ match: record.match ?? "" })).toBeUndefined();
      expect(await commit(holdOf(again, approvalOf(again)))).toEqual(wins);
    });

    it("lets a call run whose old denial is over, and not before", async () => {
      const { record, approval } = await held();
      await commit(decideOf(approval, "denied", outcomeOf(record.call, "denied")));
      const again = recordOf(callOf(kit.clock), { key: record.key });
      expect(await commit(claimOf(again))).toMatchObject({
        won: false,
        call: { state: "denied" },
      });
      await kit.clock.advance(hourMs);
      expect(await commit(claimOf(again))).toEqual(wins);
    });

    it.each(["expired", "withdrawn"] as const)(
      "releases the call of a request that is %s: not found by match, held again under its key",
      async (end) => {
        const { record, approval } = await held();
        if (end === "expired") await kit.clock.advance(hourMs);
        expect(await commit(decideOf(approval, end))).toEqual(wins);
        expect(await kit.store.call({ match: record.match ?? "" })).toBeUndefined();
        const again = recordOf(callOf(kit.clock), {
          ...record,
          approvalId: "apr_2",
          aliveUntil: kit.clock.now() + hourMs,
        });
        expect(await commit(holdOf({ ...again, key: record.key }, approvalOf(again)))).toEqual(wins);
        expect(await kit.store.call({ match: record.match ?? "" })).toMatchObject({
          approvalId: "apr_2",
        });
      },
    );

    it("does not let the late end of an old request affect the newer one", async () => {
      const { record, approval } = await held();
      await kit.clock.advance(hourMs);
      const again = recordOf(callOf(kit.clock), {
        ...record,
        approvalId: "apr_2",
        aliveUntil: kit.clock.now() + hourMs,
      });
      expect(await commit(holdOf(again, approvalOf(again)))).toEqual(wins);
      expect(await commit(decideOf(approval, "expired"))).toEqual(wins);
      expect(await kit.store.call({ match: record.match ?? "" })).toMatchObject({
        state: "held",
        approvalId: "apr_2",
      });
    });

    it("keeps votes while a request stays pending, and refuses a write that has not seen them", async () => {
      const { approval } = await held();
      const vote = { as: "approved", by: "ann", via: "user:ann", at: kit.clock.now() } as const;
      const voted = { ...approval, votes: [vote], revision: 1 };
      const said = (next: ApprovalRecord, expectedRevision?: number) => ({
        ...decideOf(next, next.state),
        ...(expectedRevision !== undefined && { expectedRevision }),
      });
      expect(await commit(said(voted, 0))).toEqual(wins);
      expect(await kit.store.approval(approval.id)).toEqual(voted);
      for (const unseen of [said(voted, 0), said({ ...approval, state: "approved", revision: 1 }, 0), said(voted)])
        expect(await commit(unseen)).toEqual({ won: false, approval: voted });
      const approved = { ...voted, state: "approved", revision: 2 } as const;
      expect(await commit(said(approved, 1))).toEqual(wins);
      expect(await commit(said({ ...voted, revision: 3 }, 2))).toMatchObject({ won: false, approval: approved });
    });

    it("keeps no vote on an expired request", async () => {
      const { approval } = await held();
      await kit.clock.advance(hourMs);
      const late = { ...decideOf({ ...approval, revision: 1 }, "pending"), expectedRevision: 0 };
      expect(await commit(late)).toMatchObject({ won: false, approval });
    });

    it("ends each request once when approve, deny, skip, expire and withdraw race", async () => {
      for (let first = 0; first < 5; first += 1) {
        const { record, approval } = await held();
        const denied = outcomeOf(record.call, "denied");
        const ends = [
          decideOf(approval, "approved"),
          decideOf(approval, "denied", denied),
          decideOf(approval, "skipped", denied),
          decideOf(approval, "expired"),
          decideOf(approval, "withdrawn"),
        ];
        const order = [...ends.slice(first), ...ends.slice(0, first)];
        const answers = await Promise.all(order.map((end) => kit.store.commit(end, "synced")));
        const winners = order
          .filter((_, i) => answers[i]?.won)
          .map((write) => (write.write === "decide" ? write.approval.state : ""));
        expect(["approved,withdrawn", "denied", "skipped", "withdrawn"]).toContain(winners.join());
        for (const answer of answers) if (!answer.won) expect(answer.approval).toBeDefined();
        expect((await kit.store.approval(approval.id))?.state).toBe(winners.at(-1));
      }
    });

    it("takes no decision after the deadline and no expiry before it", async () => {
      const { approval } = await held();
      expect(await commit(decideOf(approval, "expired"))).toMatchObject({
        won: false,
        approval: { state: "pending" },
      });
      await kit.clock.advance(hourMs);
      for (const late of ["approved", "denied", "skipped"] as const)
        expect((await commit(decideOf(approval, late))).won).toBe(false);
      expect(await commit(decideOf(approval, "expired"))).toEqual(wins);
    });

    it("refuses a decision on an unknown request, and states that no decision can set", async () => {
      const { record, approval } = await held();
      expect(await commit(decideOf({ ...approval, id: "apr_none" }, "approved"))).toEqual({
        won: false,
      });
      expect(await commit(decideOf(approval, "used"))).toMatchObject({ won: false });
      expect(await commit(decideOf(approval, "pending"))).toMatchObject({ won: false });
      expect(await state(record.key)).toBe("held");
    });

    it("uses an approval with its claim, once, only for its own call and before it expires", async () => {
      const { record, approval } = await held();
      const run = recordOf(callOf(kit.clock), { key: record.key });
      expect(await commit(claimOf(run, { use: approval.id }))).toMatchObject({
        won: false,
        call: { state: "held" },
        approval: { state: "pending" },
      });
      await commit(decideOf(approval, "approved"));
      expect(await commit(claimOf(recordOf(callOf(kit.clock)), { use: approval.id }))).toMatchObject({
        won: false,
        approval: { state: "approved" },
      });
      expect(await commit(claimOf(run, { use: "apr_none" }))).toMatchObject({ won: false });
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => kit.store.commit(claimOf(run, { use: approval.id }), "synced")),
      );
      expect(answers.filter(({ won }) => won)).toHaveLength(1);
      expect(await kit.store.approval(approval.id)).toEqual({ ...approval, state: "used" });
      expect(await commit(decideOf(approval, "withdrawn"))).toMatchObject({
        won: false,
        approval: { state: "used" },
      });
    });

    it("does not start a retry with an approval that was used", async () => {
      const { record, approval } = await held();
      await commit(decideOf(approval, "approved"));
      const run = recordOf(callOf(kit.clock), { key: record.key, fence: kit.store.incarnation });
      expect(await commit(claimOf(run, { use: approval.id }))).toEqual(wins);
      expect(await commit(settleOf(run, "failed", { retryable: true }))).toEqual(wins);
      const again = recordOf(callOf(kit.clock), { key: record.key });
      expect(await commit(claimOf(again, { use: approval.id }))).toMatchObject({
        won: false,
        approval: { state: "used" },
      });
      expect(await state(record.key)).toBe("failed");
    });

    it("does not use an approval that has expired or was withdrawn", async () => {
      for (const spoil of [
        async () => await kit.clock.advance(hourMs),
        async (approval: ApprovalRecord) => void (await commit(decideOf(approval, "withdrawn"))),
      ]) {
        const { record, approval } = await held();
        await commit(decideOf(approval, "approved"));
        await spoil(approval);
        expect(
          (
            await commit(
              claimOf(recordOf(callOf(kit.clock), { key: record.key }), {
                use: approval.id,
              }),
            )
          ).won,
        ).toBe(false);
        expect(await state(record.key)).toBe("held");
      }
    });

    it("keeps the decision: edited arguments, who, when and why", async () => {
      const { approval } = await held();
      const decision = {
        as: "modified",
        by: "eve",
        via: "console",
        at: kit.clock.now(),
        reason: "softer",
      } as const;
      const edited = {
        ...approval,
        arguments: { to: "carol" },
        binding: "b2",
        decision,
        preview: { summary: "s", supported: true },
        previewDigest: "d",
        summary: "w",
        autonomy: "A2",
      };
      await commit(decideOf(edited, "approved"));
      expect(await kit.store.approval(approval.id)).toEqual({ ...edited, state: "approved" });
    });
  });
}
