import type { ApprovalRecord, CallRecord, DurableEvent, EndName, StoreWrite, ToolCall, Weighing } from "@postern/core";
import { describe, expect, it } from "vitest";
import { type CountedCalls, stepOf } from "../../store/statistics.ts";
import type { Store } from "../../store/store.ts";
import { approvalOf, authority, callOf, decideOf, hourMs, outcomeOf, recordOf, settleOf } from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

const weighing: Weighing = { verdict: "ALLOW", risk: "safe", reasons: [], policyVersion: "p" };
const minuteMs = 60_000;

function withEvent(write: StoreWrite, event: DurableEvent): StoreWrite {
  return { ...write, event } as StoreWrite; // every write of these tests has an event
}

/** What a store counts of calls and decisions. */
export function statisticsContract(kit: StoreKit): void {
  const { commit, attempted } = kit;

  const ended = (call: ToolCall, as: EndName, latencyMs = 1, isKnown = true): DurableEvent => ({
    ...{ moment: "ended", at: kit.clock.now(), call, as, outcome: outcomeOf(call), latencyMs },
    ...(isKnown && { weighing }),
    ...(as === "failed" && { code: "tool_failed" }),
  });
  const settled = async (record: CallRecord, as: EndName, latencyMs = 1): Promise<void> => {
    const state = as === "succeeded" ? "ok" : as === "failed" ? "failed" : "unknown";
    expect(await commit(withEvent(settleOf(record, state), ended(record.call, as, latencyMs)))).toEqual(wins);
  };
  const read = (where: Partial<Parameters<Store["statistics"]>[0]> = {}): Promise<readonly CountedCalls[]> =>
    kit.store.statistics({ period: "hour", from: 0, until: kit.clock.now() + hourMs, by: [], ...where });
  const sums = (rows: readonly CountedCalls[]): Record<string, number> =>
    Object.fromEntries(rows.map(({ tool, as, count }) => [`${tool} ${as}`.trim(), count]));

  async function ask(): Promise<ApprovalRecord> {
    const call = callOf(kit.clock);
    const record = recordOf(call, {
      state: "held",
      approvalId: `apr_${call.id}`,
      aliveUntil: kit.clock.now() + hourMs,
    });
    const approval = approvalOf(record);
    const { id: approvalId, expiresAt } = approval;
    const event = { moment: "held", at: kit.clock.now(), call, weighing, approvalId, expiresAt } as const;
    expect(await commit({ write: "hold", record, approval, event })).toEqual(wins);
    return approval;
  }
  const decide = (approval: ApprovalRecord, as: "approved" | "denied" | "expired", by: string) => {
    const { id: approvalId, risk } = approval;
    const at = kit.clock.now();
    const event = { moment: "decided", at, call: callOf(kit.clock), approvalId, as, by, via: "test", risk } as const;
    return commit(withEvent(decideOf(approval, as), event));
  };

  describe("statistics", () => {
    it("count executions, held calls and arrivals that were turned away, with what won only", async () => {
      const first = await attempted();
      await settled(first, "succeeded");
      expect((await commit(withEvent(settleOf(first, "ok"), ended(first.call, "succeeded")))).won).toBe(false);
      await settled(await attempted(), "failed");
      await settled(await attempted(), "unknown");
      await ask();
      const turnedAway = ["refused", "blocked", "previewed", "deduped", "suspended", "settled"] as const;
      for (const as of turnedAway) await commit({ write: "note", event: ended(callOf(kit.clock), as) });
      const late = { ...ended(callOf(kit.clock), "refused"), code: "approval_timed_out" } as DurableEvent;
      await commit({ write: "note", event: late }); // its request is open still
      const counts = { ok: 1, failed: 1, unknown: 1, asked: 1, refused: 2, previewed: 1 };
      expect(sums(await read())).toEqual(counts);
      const named = Object.entries(counts).map(([as, count]) => [`send_email ${as}`, count]);
      expect(sums(await read({ by: ["tool"] }))).toEqual(Object.fromEntries(named));
      expect(await read({ tenant: "other" })).toEqual([]);
      expect(await read({ tool: "other" })).toEqual([]);
      expect(await read({ agent: "other" })).toEqual([]);
      expect((await read()).find(({ as }) => as === "failed")).toMatchObject({ code: "tool_failed" });
    });

    it("name no tool that does not exist", async () => {
      await commit({ write: "note", event: ended(callOf(kit.clock, { tool: "made up" }), "refused", 1, false) });
      expect(await read({ by: ["tool", "action"] })).toMatchObject([{ tool: "", action: "", as: "refused", count: 1 }]);
    });

    it("keep apart agents, deciders, hours and durations", async () => {
      const other = { ...authority, principal: { tenant: "default", agent: "b" } };
      await settled(await attempted(), "succeeded", 10);
      await settled(await attempted({ call: callOf(kit.clock, { authority: other }) }), "succeeded", 10_000);
      expect((await read({ by: ["agent"] })).map(({ agent, step }) => [agent, step]).sort()).toEqual([
        ["agent", stepOf(10)],
        ["b", stepOf(10_000)],
      ]);
      const [one, two, three] = [await ask(), await ask(), await ask()];
      await kit.clock.advance(20 * minuteMs);
      expect(await decide(one, "approved", "ann")).toEqual(wins);
      expect(await decide(two, "denied", "bob")).toEqual(wins);
      expect((await decide(two, "approved", "eve")).won).toBe(false);
      await kit.clock.advance(hourMs);
      expect(await decide(three, "expired", "clock")).toEqual(wins);
      const decided = (await read({ by: ["decider"] })).filter(({ as }) => as !== "ok" && as !== "asked");
      expect(decided.map(({ decider, as, step }) => [as, decider, step]).sort()).toEqual([
        ["approved", "ann", stepOf(20 * minuteMs)],
        ["denied", "bob", stepOf(20 * minuteMs)],
        ["expired", "", stepOf(80 * minuteMs)],
      ]);
      const hours = (await read({ by: ["at"] })).map(({ at, as }) => [at % hourMs, as]);
      expect(hours).toContainEqual([0, "expired"]);
      const from = kit.clock.now() - (kit.clock.now() % hourMs);
      expect(sums(await read({ from }))).toEqual({ expired: 1 });
      expect(await read({ from: 0, until: 1 })).toEqual([]);
    });

    it("add up the minutes of all tools, and forget them after two hours", async () => {
      const minute = kit.clock.now() - (kit.clock.now() % minuteMs);
      await settled(await attempted(), "succeeded");
      await settled(await attempted({ call: callOf(kit.clock, { tool: "pay" }) }), "succeeded", 500);
      const minutes = (): Promise<readonly CountedCalls[]> => read({ period: "minute", by: ["at"] });
      expect(await minutes()).toMatchObject([{ at: minute, as: "ok", count: 2, tool: "", step: 0 }]);
      await kit.clock.advance(4 * hourMs);
      await settled(await attempted(), "succeeded");
      expect(await minutes()).toMatchObject([{ at: minute + 4 * hourMs, count: 1 }]);
      expect((await read()).reduce((sum, { count }) => sum + count, 0)).toBe(3);
    });
  });
}
