import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import type { ToolOutcome } from "../../index.ts";
import { authority, callOf, outcomeOf } from "../../testing/records.ts";
import { CallCounts, mostTools } from "./call-counts.ts";

const clock = new FakeClock();

function leave(counts: CallCounts, tool: string, more: Partial<Parameters<typeof callOf>[1]> = {}): void {
  const call = callOf(clock, { tool, ...more });
  counts.see({ moment: "arrived", call });
  counts.see({ moment: "left", call, outcome: outcomeOf(call), durationMs: 1 });
}

const labels = (counts: CallCounts): readonly string[] => [...counts.tools.keys()];
const vias = (counts: CallCounts): readonly string[] => [...(counts.tools.get("echo")?.left.get("ok")?.keys() ?? [])];

describe("the labels of counted calls", () => {
  it("gives a tool that is not registered no label of its own, however many there are", () => {
    const counts = new CallCounts((name) => name === "echo");
    for (let i = 0; i < 1_000; i += 1) leave(counts, `made_up_${i}`);
    leave(counts, "echo");
    expect(labels(counts)).toEqual(["other", "echo"]);
    expect(counts.tools.get("other")?.left.get("ok")?.get("library")).toBe(1_000);
  });

  it("gives the tools that are called first a label, and counts the rest together", () => {
    const counts = new CallCounts(() => true);
    for (let i = 0; i < mostTools + 50; i += 1) leave(counts, `tool_${i}`);
    expect(labels(counts)).toHaveLength(mostTools + 1);
    expect(labels(counts).at(-1)).toBe("other");
    expect(counts.tools.get("other")?.left.get("ok")?.get("library")).toBe(50);
    leave(counts, "tool_3");
    expect(counts.tools.get("tool_3")?.left.get("ok")?.get("library")).toBe(2);
  });

  it("counts a tool with the name `other` once, with the rest", () => {
    const counts = new CallCounts((name) => name === "other");
    leave(counts, "other");
    leave(counts, "made_up");
    expect(labels(counts)).toEqual(["other"]);
  });

  it("names the kind of a credential, and never the credential", () => {
    const counts = new CallCounts(() => true);
    const by = (via: string | undefined) => ({
      authority: { ...authority, principal: { tenant: "t", agent: "a", ...(via && { via }) } },
    });
    for (const via of ["token:tok_1", "token:tok_2", "oauth:desk", "session:ann", "stdio", undefined, "constructor:1"])
      leave(counts, "echo", by(via));
    leave(counts, "echo", { authority: { ...authority, fromChain: true } });
    leave(counts, "echo", { parentId: "call_1" });
    expect(vias(counts)).toEqual(["token", "oauth", "session", "stdio", "library", "other", "script", "tool"]);
  });

  it("counts a code that is no refusal of Postern as `other`", () => {
    const counts = new CallCounts(() => true);
    const call = callOf(clock);
    for (const code of ["paused", "toString", "made_up"]) {
      const outcome = { ...outcomeOf(call, "error"), refusal: { code } } as unknown as ToolOutcome;
      counts.see({ moment: "left", call, outcome, durationMs: 1 });
    }
    expect([...counts.refusals]).toEqual([
      ["paused", 1],
      ["other", 2],
    ]);
  });
});
