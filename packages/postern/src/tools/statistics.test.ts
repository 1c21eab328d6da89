import type { CallEvent, EndName, StoreWrite } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aCall } from "../../../../test/fakes/call.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { approvalOf, decideOf, holdOf, recordOf, serializePlainly } from "../testing/records.ts";
import { type Statistics, type StatisticsRange, statisticsOf } from "./statistics.ts";

const hourMs = 3_600_000;
const start = Date.UTC(2026, 10, 20, 12);

interface More {
  readonly at?: number;
  readonly ms?: number;
  readonly tool?: string;
  readonly agent?: string;
}

/** A store with a clock of its own, in which calls end and requests are decided. */
function counting() {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock, serialize: serializePlainly });
  const callBy = ({ tool = "echo", agent = "agent" }: More) => {
    const call = aCall({ tool });
    return {
      ...call,
      authority: { ...call.authority, principal: { ...call.authority.principal, tenant: "default", agent } },
    };
  };
  const commit = (write: StoreWrite) => store.commit(write, "queued");
  const weighing = { verdict: "ALLOW", risk: "safe", reasons: [], policyVersion: "p" } as const;
  return {
    end: async (as: EndName, more: More = {}): Promise<void> => {
      const { at = start, ms = 1 } = more;
      const outcome = { status: "ok", callId: "call_1", content: [], text: "" } as const;
      const code = as === "failed" ? { code: "tool_failed" as const } : {};
      const call = callBy(more);
      await commit({
        write: "note",
        event: { moment: "ended", at, as, outcome, weighing, latencyMs: ms, call, ...code },
      });
    },
    decide: async (as: "approved" | "denied" | "expired", by: string, waitedMs: number): Promise<void> => {
      const call = callBy({});
      const record = recordOf(call, { state: "held", key: `${as} ${by}`, approvalId: `apr ${as} ${by}` });
      const requestedAt = start - waitedMs;
      const approval = approvalOf(record, { requestedAt, expiresAt: as === "expired" ? 0 : start + hourMs * 1e6 });
      const held = { moment: "held", at: requestedAt, call, weighing, approvalId: approval.id, expiresAt: 0 } as const;
      await commit({ ...holdOf(record, approval), event: held } as StoreWrite);
      const decided: CallEvent = { ...held, moment: "decided", at: start, as, by, via: "x", risk: "high" };
      await commit({ ...decideOf(approval, as), event: decided } as StoreWrite);
    },
    read: (range: StatisticsRange = {}): Promise<Statistics> => statisticsOf(store, range, start + 1),
  };
}

describe("statistics", () => {
  it("say how calls ended by tool and agent, and when and why the last one failed", async () => {
    const { end, read } = counting();
    for (const as of ["succeeded", "unknown", "failed", "refused", "blocked", "deduped"] as const) await end(as);
    await end("succeeded", { tool: "mail", agent: "b" });
    const { tools, agents, periods, minutes } = await read();
    const echo = { calls: 3, errors: 2, unknown: 1, refused: 2, asked: 0, lastErrorAt: start };
    expect(tools).toMatchObject([
      { tool: "echo", action: "default", ...echo },
      { tool: "mail", calls: 1, errors: 0 },
    ]);
    expect(agents).toMatchObject([
      { agent: "agent", ...echo },
      { agent: "b", calls: 1 },
    ]);
    const counts = { at: start, ok: 2, failed: 1, refused: 2, unknown: 1, previewed: 0, asked: 0 };
    expect([periods, minutes]).toEqual([[counts], [counts]]);
    await end("failed", { at: start + 1 });
    expect((await read({ to: start + hourMs })).tools[0]).toMatchObject({
      lastErrorAt: start + 1,
      lastErrorCode: "tool_failed",
    });
  });

  it("say how requests were decided, by whom and after what time", async () => {
    const { decide, read } = counting();
    await decide("approved", "ann", 60_000);
    await decide("denied", "ann", 60_000);
    await decide("denied", "bob", 1_000);
    await decide("expired", "clock", hourMs);
    const { deciders, decisions, tools } = await read();
    expect(deciders).toMatchObject([
      { decider: "ann", approved: 1, denied: 1 },
      { decider: "bob", approved: 0, denied: 1 },
    ]);
    expect(deciders[0]?.p50Ms).toBeGreaterThan(54_000);
    expect(deciders[0]?.p50Ms).toBeLessThan(66_000);
    expect(decisions).toMatchObject({ approved: 1, denied: 2, skipped: 0, expired: 1, withdrawn: 0 });
    expect(decisions.p95Ms).toBeLessThan(66_000); // the clock is no person
    expect(tools).toMatchObject([{ tool: "echo", calls: 0, asked: 4 }]);
  });

  it("cover the last day, or the range that is named, by hours or days", async () => {
    const { end, read } = counting();
    for (const hours of [0, 1, 23, 30, 24 * 10]) await end("succeeded", { at: start - hours * hourMs });
    expect((await read()).tools).toMatchObject([{ calls: 3 }]);
    expect((await read({ from: start - 30 * hourMs })).periods.map(({ at }) => (start - at) / hourMs)).toEqual([
      30, 23, 1, 0,
    ]);
    const days = (await read({ from: start - 11 * 24 * hourMs })).periods;
    expect(days.map(({ at, ok }) => [at % (24 * hourMs), ok])).toEqual([
      [0, 1],
      [0, 2],
      [0, 2],
    ]);
    expect((await read({ from: start - hourMs + 5, to: start })).periods).toMatchObject([
      { at: start - hourMs, ok: 1 },
    ]);
    expect((await read({ tool: "mail" })).periods).toEqual([]);
    expect((await read({ tenant: "other" })).tools).toEqual([]);
  });

  it("give percentiles of execution to a tenth, whatever the times", async () => {
    const times = fc.array(fc.double({ min: 0.2, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(times, async (measured) => {
        const { end, read } = counting();
        for (const ms of measured) await end("succeeded", { ms });
        const sorted = measured.toSorted((one, other) => one - other);
        const exact = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
        const [{ p50Ms = -1, p95Ms = -1 } = {}] = (await read()).tools;
        for (const [told, is] of [
          [p50Ms, exact(0.5)],
          [p95Ms, exact(0.95)],
        ] as const)
          expect(Math.abs(told - is)).toBeLessThanOrEqual(is * 0.1 + 0.05);
      }),
    );
  });
});
