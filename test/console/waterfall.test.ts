import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compressedScale, rowsOf, trueScale, wallTime } from "../../console/src/screens/runs/waterfall.ts";
import type { TimelineCall } from "../../packages/core/src/contract/runs.ts";

const start = Date.UTC(2026, 10, 20, 12);
const iso = (ms: number): string => new Date(start + ms).toISOString();

function aCall(number: number, more: Partial<TimelineCall> = {}): TimelineCall {
  return {
    call_id: `call_${number}`,
    state: "ok",
    tool: "echo",
    action: "default",
    arrived_at: iso(number),
    artifacts: [],
    durations: {},
    ...more,
  };
}

function numberOf({ call_id: id }: TimelineCall): number {
  return Number(id.slice("call_".length));
}

const someCalls = fc.array(
  fc.record({
    parent: fc.option(fc.nat(20), { nil: undefined }),
    state: fc.constantFrom("ok", "failed", "held", "attempted", "unknown", "refused"),
    at: fc.nat(1_000_000),
    asked: fc.option(fc.nat(1_000_000), { nil: undefined }),
    decided: fc.option(fc.nat(1_000_000), { nil: undefined }),
    started: fc.option(fc.nat(1_000_000), { nil: undefined }),
    ended: fc.option(fc.nat(1_000_000), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 30 },
);

describe("the waterfall", () => {
  it("draws waiting for approval apart from execution, each at its length", () => {
    const approval = { approval_id: "a", status: "used" as const, asked_at: iso(10), expires_at: iso(9e9) };
    const [row] = rowsOf(
      [
        aCall(1, {
          arrived_at: iso(0),
          started_at: iso(65_000),
          ended_at: iso(65_300),
          approval: { ...approval, decided_at: iso(60_010) },
        }),
      ],
      start + 9e9,
    );
    expect(row).toMatchObject({ waitingMs: 60_000, runningMs: 300 });
    expect(row?.segments.map(({ part }) => part)).toEqual(["gates", "person", "decided", "running"]);
  });

  it("gives an unknown call no length after its start, and lets a running call grow until now", () => {
    const now = start + 50_000;
    const calls = [
      aCall(1, { state: "unknown", arrived_at: iso(0), started_at: iso(5) }),
      aCall(2, { state: "attempted", arrived_at: iso(0), started_at: iso(5) }),
    ];
    const [unknown, running] = rowsOf(calls, now);
    expect(unknown?.runningMs).toBe(0);
    expect(running).toMatchObject({ runningMs: 49_995, segments: [{ isOpen: false }, { isOpen: true }] });
  });

  it("puts calls of a script under their script, named by id or key", () => {
    const calls = [
      aCall(6, { parent_id: "own key" }),
      aCall(5),
      aCall(4, { parent_id: "call_2" }),
      aCall(3, { parent_id: "call_9" }),
      aCall(2, { key: "own key" }),
      aCall(1),
    ];
    const rows = rowsOf(calls, start);
    expect(rows.map(({ call, depth }) => [numberOf(call), depth])).toEqual([
      [1, 0],
      [2, 0],
      [4, 1],
      [6, 1],
      [3, 0],
      [5, 0],
    ]);
  });

  it("counts waits at the same time once", () => {
    const waits = (number: number, asked: number, decided: number): TimelineCall =>
      aCall(number, {
        arrived_at: iso(asked),
        started_at: iso(decided),
        ended_at: iso(decided),
        approval: {
          ...{ approval_id: "a", status: "used" as const, asked_at: iso(asked), expires_at: iso(decided) },
          decided_at: iso(decided),
        },
      });
    const rows = rowsOf(
      [waits(1, 0, 60_000), waits(2, 0, 50_000), waits(3, 30_000, 90_000), waits(4, 200_000, 210_000)],
      start,
    );
    expect(wallTime(rows, "person")).toBe(100_000);
    expect(wallTime([], "person")).toBe(0);
  });

  it("keeps each call once, no negative length and both scales in order, with any clock", async () => {
    await fc.assert(
      fc.property(someCalls, (drawn) => {
        const calls = drawn.map(({ parent, state, at, asked, decided, started, ended }, number) =>
          aCall(number, {
            state,
            arrived_at: iso(at),
            ...(parent !== undefined && parent < number && { parent_id: `call_${parent}` }),
            ...(started !== undefined && { started_at: iso(started) }),
            ...(ended !== undefined && { ended_at: iso(ended) }),
            ...(asked !== undefined && {
              approval: {
                ...{ approval_id: "a", status: "pending", asked_at: iso(asked), expires_at: iso(asked) },
                ...(decided !== undefined && { decided_at: iso(decided) }),
              },
            }),
          }),
        );
        const rows = rowsOf(calls, start + 2_000_000);
        expect(rows.map(({ call }) => numberOf(call)).sort((one, other) => one - other)).toEqual(
          calls.map((_, at) => at),
        );
        for (const scale of [trueScale(rows), compressedScale(rows)]) {
          const moments = rows.flatMap(({ segments }) => segments.flatMap(({ from, to }) => [from, to]));
          const places = moments.toSorted((one, other) => one - other).map((at) => scale.place(at));
          expect(places.every((place) => place >= 0 && place <= 1)).toBe(true);
          expect(places).toEqual(places.toSorted((one, other) => one - other));
          for (const { segments } of rows) for (const { from, to } of segments) expect(to).toBeGreaterThanOrEqual(from);
        }
      }),
    );
  });
});
