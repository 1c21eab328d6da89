import { expect, it } from "vitest";
import { toPreview } from "./previewed.ts";

it("null means that the tool offers none: only the call itself is shown", () => {
  expect(toPreview(null, "call of x")).toEqual({ summary: "call of x", supported: false });
});

it("takes a summary, with diff and details", () => {
  expect(toPreview("short", "c")).toEqual({ summary: "short", supported: true });
  const given = { summary: "s", diff: "+a", details: { n: 1, when: new Date(0) }, extra: 1 };
  expect(toPreview(given, "c")).toEqual({
    summary: "s",
    diff: "+a",
    details: { n: 1, when: "1970-01-01T00:00:00.000Z" },
    supported: true,
  });
});

it("explains a preview that cannot be shown, and never throws", () => {
  const cycle: Record<string, unknown> = { summary: "s" };
  cycle["details"] = cycle;
  for (const broken of [
    {},
    [],
    7,
    { summary: 1 },
    cycle,
    { summary: "s", details: 1n },
    {
      get summary(): string {
        throw new Error("no");
      },
    },
  ]) {
    expect(toPreview(broken, "c")).toMatchObject({
      summary: "c",
      supported: false,
      problem: expect.stringContaining("preview"),
    });
  }
});

it("cuts long texts", () => {
  const { summary, details } = toPreview({ summary: "x".repeat(1e6), details: "y".repeat(1e6) }, "c");
  expect([summary.length, String(details).length]).toEqual([65_536, 65_536]);
});
