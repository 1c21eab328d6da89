import { duration } from "@postern/core";
import { expect, it } from "vitest";
import { fit, relative, type Sheet, table, visible, visibleLines, widthOf } from "./text.ts";

it("shows what would move the cursor, reorder or hide text", () => {
  expect(visible("a\u001b[31mred\u0007")).toBe("a␛[31mred\\u{7}");
  expect(visible("user\u202egnp.exe")).toBe("user\\u{202e}gnp.exe");
  expect(visible("a\u200bb\ufeffc\u2028d\u00add")).toBe("a\\u{200b}b\\u{feff}c\\u{2028}d\\u{ad}d");
  expect(visible("a\nb\tc\r")).toBe("a⏎b⇥c\\u{d}");
  expect(visible("x\u{e0041}\u{9b}31m")).toBe("x\\u{e0041}\\u{9b}31m");
  expect(visible("plain, ünïcode, 漢字, 👩‍👩‍👧")).toBe("plain, ünïcode, 漢字, 👩‍👩‍👧");
});

it("keeps line breaks where lines are wanted", () => {
  expect(visibleLines("a\r\nb\u001b\n\tc")).toEqual(["a", "b␛", "    c"]);
});

it("measures in columns, not in characters", () => {
  expect(["abc", "漢字", "é", "e\u0301", "👩‍👩‍👧", "❤️"].map(widthOf)).toEqual([3, 4, 1, 1, 2, 2]);
});

it("cuts to a width without cutting a character", () => {
  expect(fit("漢字漢字", 5)).toBe("漢字…");
  expect(fit("abcdef", 6)).toBe("abcdef");
  expect(widthOf(fit("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 4))).toBeLessThanOrEqual(4);
});

function screenOf(columns: number): Sheet {
  return { terminal: { columns }, paint: (_style, text) => text };
}

it("aligns columns under their headings, whatever is in them, and colours only padded text", () => {
  const text = table(
    ["NAME", "RISK", "WHAT"],
    [
      ["漢字", { text: "high", paint: (cell) => `<${cell}>` }, "x".repeat(50)],
      ["a", "safe", "y\u001b"],
    ],
    screenOf(36),
  );
  expect(text.split("\n")).toEqual(["NAME  RISK  WHAT", `漢字  <high>  ${"x".repeat(23)}…`, "a     safe  y␛", ""]);
});

it("puts below what the screen is too narrow for, and cuts no name", () => {
  const rows = [
    ["call_1234567890", "failed", "a".repeat(40)],
    ["call_2", "ok", ""],
  ];
  expect(table(["CALL", "STATE", "WHY"], rows, screenOf(26)).split("\n")).toEqual([
    "CALL             STATE",
    "    WHY",
    "call_1234567890  failed",
    `    ${"a".repeat(21)}…`,
    "call_2           ok",
    "",
  ]);
  const narrow = table(["CALL", "STATE", "WHY"], rows, screenOf(20));
  expect(narrow).toContain("call_1234567890\n    failed\n    aaaaaaaaaaaaaaa…\n");
  expect(table(["CALL", "STATE", "WHY"], rows, screenOf(Number.POSITIVE_INFINITY))).toContain("a".repeat(40));
});

it("tells times as people do", () => {
  const now = 1_000_000_000;
  expect([0, 5_000, 100_000, 7_200_000, 3 * 86_400_000].map((ago) => relative(now - ago, now))).toEqual([
    "now",
    "5 s ago",
    "2 min ago",
    "2 h ago",
    "3 d ago",
  ]);
  expect(relative(now + 600_000, now)).toBe("in 10 min");
  expect([0, 12.4, 999, 1_500].map(duration)).toEqual(["0 ms", "12 ms", "999 ms", "2 s"]);
});

it("shows variation selectors, fillers and look-alike letters by their code", () => {
  expect(visible("a\ufe0fb\u{e0100}c\u3164d\u034f")).toBe("a\\u{fe0f}b\\u{e0100}c\\u{3164}d\\u{34f}");
  expect(visible("pаypal.com a\u200db ❤️")).toBe("p\\u{430}ypal.com a\\u{200d}b ❤️");
});
