import type { ApprovalRecord } from "@postern/core";
import { describe, expect, it } from "vitest";
import type { Store } from "../../store/store.ts";
import { cursorOf, soonMs } from "../../store/urgency.ts";
import { approvalOf, callOf, decideOf, eventOf, holdOf, recordOf, settleOf } from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

const minuteMs = 60_000;

/** The order of waiting requests, their groups and counts. */
export function waitingContract(kit: StoreKit): void {
  const { commit, attempted } = kit;

  /** Makes a request that ends in so many minutes, and returns it. */
  async function ask(minutes: number, more: Partial<ApprovalRecord> = {}): Promise<ApprovalRecord> {
    const call = callOf(kit.clock);
    const record = recordOf(call, { state: "held", match: `match of ${call.id}`, approvalId: `apr_${call.id}` });
    const expiresAt = kit.clock.now() + minutes * minuteMs;
    const approval = approvalOf(record, { expiresAt, ...more });
    expect(await commit(holdOf(record, approval))).toEqual(wins);
    return approval;
  }

  const list = async (where: Parameters<Store["approvals"]>[0] = {}): Promise<readonly string[]> =>
    (await kit.store.approvals({ state: "pending", ...where })).map(({ id }) => id);
  const idsOf = (...approvals: readonly ApprovalRecord[]): readonly string[] => approvals.map(({ id }) => id);

  async function edit(approval: ApprovalRecord, more: Partial<ApprovalRecord>): Promise<ApprovalRecord> {
    const expectedRevision = approval.revision ?? 0;
    const edited = { ...approval, ...more, revision: expectedRevision + 1 };
    const write = { write: "decide", approval: edited, expectedRevision, event: eventOf("edited") } as const;
    expect(await commit(write)).toEqual(wins);
    return edited;
  }

  describe("the order of waiting requests", () => {
    it("begins with what ends within five minutes, the first to end first; then the riskiest", async () => {
      const [safe, high, oldCritical] = [
        await ask(60, { risk: "safe" }),
        await ask(90),
        await ask(60, { risk: "critical" }),
      ];
      const [late, soon] = [await ask(5, { risk: "safe" }), await ask(4, { risk: "medium" })];
      const [medium, newCritical, newHigh] = [
        await ask(60, { risk: "medium" }),
        await ask(90, { risk: "critical" }),
        await ask(6),
      ];
      const order = idsOf(soon, late, newCritical, oldCritical, high, newHigh, medium, safe);
      expect(await list()).toEqual(order);
      expect(await list({ risk: "critical" })).toEqual(idsOf(newCritical, oldCritical));
      for (let i = 0; i < order.length; i += 1)
        for (const limit of [1, 3])
          expect(await list({ after: order[i] ?? "", limit })).toEqual(order.slice(i + 1, i + 1 + limit));
      expect(await list({ runId: high.runId, after: late.id, limit: 2 })).toEqual(idsOf(newCritical, oldCritical));
      expect(await list({ runId: "other" })).toEqual([]);
      expect(await list({ limit: 0 })).toEqual([]);
      await kit.clock.advance(5 * minuteMs);
      expect(await list({ limit: 3 })).toEqual(idsOf(soon, late, newHigh)); // two are over, and not swept yet
      expect((await kit.store.approvals({})).map(({ id }) => id)).toEqual(
        idsOf(safe, high, oldCritical, late, soon, medium, newCritical, newHigh),
      );
    });

    it("skips no request that waits while all pages are read, whatever happens between two pages", async () => {
      const steady: ApprovalRecord[] = [];
      for (let i = 0; i < 12; i += 1) {
        const risk = (["critical", "high", "medium", "safe"] as const)[i % 4] ?? "safe";
        steady.push(await ask(i < 3 ? 4 : 6 + i, { risk }));
      }
      const decided = [await ask(60, { risk: "critical" }), await ask(60), await ask(3)];
      for (const size of [1, 2, 5]) {
        const soonUntil = kit.clock.now() + soonMs;
        const seen: string[] = [];
        for (let after: string | undefined; ; ) {
          const page = await kit.store.approvals({
            ...{ state: "pending", limit: size, soonUntil },
            ...(after !== undefined && { after }),
          });
          const last = page.at(-1);
          if (last === undefined) break;
          seen.push(...idsOf(...page));
          after = cursorOf(last, soonUntil);
          await kit.clock.advance(7_000); // some move into the last five minutes
          if (seen.length % 2 === 0) await ask(2, { risk: "safe" });
          await ask(60, { risk: "critical" });
          const [next] = decided.splice(0, 1);
          if (next !== undefined) await commit(decideOf(next, "denied"));
          if (seen.length > 400) throw new Error("The pages do not end.");
        }
        for (const { id } of steady) expect(seen.filter((one) => one === id)).toEqual([id]);
      }
    });

    it("goes on behind a request that was edited or decided since", async () => {
      const [first, second, third] = [
        await ask(60, { risk: "medium" }),
        await ask(60, { risk: "medium" }),
        await ask(60, { risk: "medium" }),
      ];
      const after = cursorOf(second, kit.clock.now() + soonMs);
      const edited = await edit(second, { risk: "critical" });
      expect(await list()).toEqual(idsOf(second, first, third));
      expect(await list({ after })).toEqual([third.id]); // where it was when the page ended with it
      expect(await list({ after: second.id })).toEqual(idsOf(first, third)); // where it is now
      await commit(decideOf(edited, "denied"));
      expect(await list({ after })).toEqual([third.id]);
      const until = kit.clock.now() + soonMs;
      for (const wrong of ["apr_none", `apr_none@high.${until}`, `${third.id}@x.1`, `${third.id}@high`, "@soon.1", ""])
        expect(await list({ after: wrong })).toEqual([]);
    });
  });

  describe("groups of waiting requests", () => {
    it("counts what is alike, the largest first, with the first and the last", async () => {
      const from = kit.clock.now();
      const mail = await ask(60, { tool: "mail", runId: "r1" });
      await kit.clock.advance(1_000);
      const second = { requestedAt: from + 1_000 };
      await ask(60, { tool: "mail", runId: "r1", risk: "critical", ...second });
      await ask(60, { tool: "mail", runId: "r2", ...second });
      await ask(60, { tool: "pay", runId: "r2", ...second });
      const over = await ask(1, { tool: "pay", runId: "r3", ...second });
      const times = (oldest: number, newest: number) => ({ oldestAt: from + oldest, newestAt: from + newest });
      const groups = (where: Parameters<Store["groups"]>[0]) => kit.store.groups(where);
      expect(await groups({ by: ["tool", "runId"] })).toEqual([
        { tool: "mail", runId: "r1", waiting: 2, ...times(0, 1_000) },
        { tool: "mail", runId: "r2", waiting: 1, ...times(1_000, 1_000) },
        { tool: "pay", runId: "r2", waiting: 1, ...times(1_000, 1_000) },
        { tool: "pay", runId: "r3", waiting: 1, ...times(1_000, 1_000) },
      ]);
      expect(await groups({ by: [] })).toEqual([{ waiting: 5, ...times(0, 1_000) }]);
      expect(await groups({ by: ["tool", "agent"], limit: 1 })).toMatchObject([
        { tool: "mail", agent: "agent", waiting: 3 },
      ]);
      expect(await groups({ by: ["risk"], tool: "mail" })).toMatchObject([
        { risk: "high", waiting: 2 },
        { risk: "critical", waiting: 1 },
      ]);
      const audience = (await kit.store.audiences({ tool: "pay" })).map(({ key }) => key);
      expect(await groups({ by: ["tool"], audiences: audience })).toMatchObject([{ tool: "pay", waiting: 2 }]);
      for (const none of [{ tenant: "other" }, { agent: "other" }, { risk: "safe" as const }, { audiences: [] }])
        expect(await groups({ by: ["tool"], ...none })).toEqual([]);
      expect(await groups({ by: [], tenant: "other" })).toEqual([]);

      await kit.clock.advance(2 * minuteMs); // one is over, and not swept yet
      expect(await groups({ by: ["tool"] })).toMatchObject([
        { tool: "mail", waiting: 3 },
        { tool: "pay", waiting: 1 },
      ]);
      expect(await groups({ by: ["runId"], runId: "r3" })).toEqual([]);
      await commit(decideOf(over, "expired"));
      await commit(decideOf(mail, "denied"));
      expect(await groups({ by: ["tool", "runId"], limit: 1 })).toEqual([
        { tool: "mail", runId: "r1", waiting: 1, ...times(1_000, 1_000) },
      ]);
    });

    it("counts audiences without those that have expired, also after a vote", async () => {
      const approval = await ask(60);
      await ask(60);
      await ask(1);
      const waiting = async (): Promise<readonly number[]> =>
        (await kit.store.audiences({})).map((one) => one.waiting).sort();
      expect(await waiting()).toEqual([3]);
      await edit(approval, { votes: [{ as: "approved", by: "ann", via: "user:ann", at: 1 }] });
      expect(await waiting()).toEqual([1, 2]);
      await kit.clock.advance(minuteMs);
      expect(await waiting()).toEqual([1, 1]);
    });
  });

  it("counts requests by state and by the clock, and calls with an unknown end", async () => {
    const [denied, approved, used] = [await ask(60), await ask(60), await ask(60)];
    await ask(1);
    await commit(decideOf(denied, "denied"));
    await commit(decideOf(approved, "approved"));
    await commit(decideOf(used, "withdrawn"));
    const unknown = await attempted();
    await commit(settleOf(unknown, "unknown"));
    const none = { pending: 0, approved: 0, denied: 0, skipped: 0, expired: 0, withdrawn: 0, used: 0 };
    const requests = { ...none, pending: 1, approved: 1, denied: 1, withdrawn: 1 };
    expect(await kit.store.counts({})).toEqual({ requests, unknownCalls: 1 });
    expect(await kit.store.counts({ tenant: "other" })).toEqual({ requests: none, unknownCalls: 0 });
    await kit.clock.advance(minuteMs);
    expect((await kit.store.counts({ tenant: "default" })).requests).toEqual({ ...requests, pending: 0, expired: 1 });
    await kit.clock.advance(60 * minuteMs);
    expect((await kit.store.counts({})).requests).toEqual({ ...requests, pending: 0, approved: 0, expired: 2 });
    await commit(settleOf(unknown, "ok", {}, "operator"));
    expect(await kit.store.counts({})).toMatchObject({ unknownCalls: 0 });
  });
}
