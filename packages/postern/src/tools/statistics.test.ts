import type { CallEvent, EndName, RefusalCode, Weighing } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aCall } from "../../../../test/fakes/call.ts";
import { ToolStatistics } from "./statistics.ts";

const weighing: Weighing = { verdict: "ALLOW", risk: "safe", reasons: [], policyVersion: "p" };
const outcome = { status: "ok", callId: "call_1", content: [], text: "" } as const;
const start = Date.UTC(2026, 10, 20, 12);

interface More {
  readonly at?: number;
  readonly ms?: number;
  readonly tool?: string;
  readonly code?: RefusalCode;
  readonly tenant?: string;
}

function ended(as: EndName, more: More = {}): Extract<CallEvent, { readonly moment: "ended" }> {
  const { at = start, ms = 1, tool = "echo", code, tenant = "default" } = more;
  const plain = aCall({ tool });
  const principal = { ...plain.authority.principal, tenant };
  const call = { ...plain, authority: { ...plain.authority, principal } };
  return {
    ...{ moment: "ended", at, as, outcome, weighing, latencyMs: ms, call },
    ...(code !== undefined && { code }),
  };
}

describe("how tools do", () => {
  it("counts executions and their ends, and arrivals that were turned away beside them", () => {
    const statistics = new ToolStatistics();
    for (const as of ["succeeded", "succeeded", "failed", "unknown", "refused", "blocked", "deduped"] as const)
      statistics.see(ended(as, { at: start + 1, code: "tool_failed" }));
    expect(statistics.actions()).toMatchObject([
      {
        tool: "echo",
        calls: 4,
        errors: 2,
        unknown: 1,
        refused: 2,
        lastErrorAt: start + 1,
        lastErrorCode: "tool_failed",
      },
    ]);
    expect(statistics.since).toBe(start + 1);
  });

  it("an arrival whose request is open still is not refused, and neither is a preview", () => {
    const statistics = new ToolStatistics();
    statistics.see(ended("refused", { code: "approval_timed_out" }));
    statistics.see(ended("previewed"));
    expect(statistics.minutes()).toMatchObject([{ refused: 0, previewed: 1 }]);
    expect(statistics.actions()).toMatchObject([{ calls: 0, refused: 0 }]);
  });

  it("tells percentiles of execution to a tenth, whatever the times", async () => {
    await fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.2, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 }),
        (times) => {
          const statistics = new ToolStatistics();
          for (const ms of times) statistics.see(ended("succeeded", { ms }));
          const sorted = times.toSorted((one, other) => one - other);
          const exact = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
          const [{ p50Ms = -1, p95Ms = -1 } = {}] = statistics.actions();
          for (const [told, is] of [
            [p50Ms, exact(0.5)],
            [p95Ms, exact(0.95)],
          ] as const)
            expect(Math.abs(told - is)).toBeLessThanOrEqual(is * 0.1 + 0.05);
        },
      ),
    );
  });

  it("forgets times after the hour that follows theirs, and keeps the counts", () => {
    const statistics = new ToolStatistics();
    const hour = 3_600_000;
    statistics.see(ended("succeeded", { ms: 1000 }));
    statistics.see(ended("succeeded", { ms: 10, at: start + hour }));
    expect(statistics.actions()[0]?.p95Ms).toBeGreaterThan(900);
    statistics.see(ended("succeeded", { ms: 10, at: start + 2 * hour }));
    expect(statistics.actions()[0]).toMatchObject({ calls: 3 });
    expect(statistics.actions()[0]?.p95Ms).toBeLessThan(12);
    statistics.see(ended("succeeded", { ms: 500, at: start + 9 * hour }));
    expect(statistics.actions()[0]?.p50Ms).toBeGreaterThan(450);
  });

  it("keeps the minutes of the last hour, and what was asked in them", () => {
    const statistics = new ToolStatistics();
    const { call } = ended("succeeded");
    const held = { call, weighing, approvalId: "apr_1", expiresAt: 0 };
    statistics.see({ moment: "held", at: start, ...held });
    statistics.see(ended("failed", { at: start + 59_999 }));
    statistics.see(ended("succeeded", { at: start + 60_000 }));
    statistics.see(ended("succeeded", { at: start })); // the clock was set back
    expect(statistics.minutes()).toEqual([
      { at: start, ok: 0, failed: 1, refused: 0, unknown: 0, previewed: 0, asked: 1 },
      { at: start + 60_000, ok: 2, failed: 0, refused: 0, unknown: 0, previewed: 0, asked: 0 },
    ]);
    statistics.see(ended("succeeded", { at: start + 3_600_000 }));
    expect(statistics.minutes().map(({ at }) => at)).toEqual([start + 60_000, start + 3_600_000]);
  });

  it("stays small: unknown tools leave no trace, and there is an end to actions", () => {
    const statistics = new ToolStatistics();
    const { weighing: _, ...unknown } = { ...ended("refused", { tool: "made up" }), weighing };
    statistics.see(unknown as CallEvent);
    expect(statistics.actions()).toEqual([]);
    for (let i = 0; i < 10_010; i += 1) statistics.see(ended("succeeded", { tool: `tool${i}` }));
    expect(statistics.actions()).toHaveLength(10_000);
    statistics.see(ended("succeeded", { tool: "tool1" }));
    expect(statistics.actions()[1]).toMatchObject({ calls: 2 });
  });

  it("counts each tenant by itself, and forgets the last hour of one that was quiet since", () => {
    const statistics = new ToolStatistics();
    statistics.see(ended("failed", { tenant: "acme", tool: "mail" }));
    statistics.see(ended("succeeded"));
    expect(statistics.actions("acme")).toMatchObject([{ tool: "mail", calls: 1, errors: 1 }]);
    expect(statistics.actions()).toMatchObject([{ tool: "echo", calls: 1, errors: 0 }]);
    expect(statistics.minutes("acme")).toMatchObject([{ ok: 0, failed: 1 }]);
    expect(statistics.minutes()).toMatchObject([{ ok: 1, failed: 0 }]);
    expect([statistics.actions("other"), statistics.minutes("other")]).toEqual([[], []]);
    statistics.see(ended("succeeded", { at: start + 3_600_000 }));
    expect(statistics.minutes("acme")).toEqual([]);
  });

  it("has room for a thousand tenants, and looks away from more", () => {
    const statistics = new ToolStatistics();
    for (let i = 0; i < 1_001; i += 1) statistics.see(ended("succeeded", { tenant: `tenant${i}` }));
    expect([statistics.actions("tenant999").length, statistics.actions("tenant1000").length]).toEqual([1, 0]);
  });
});
