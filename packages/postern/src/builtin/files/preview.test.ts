import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import { unifiedDiff } from "./preview.ts";

/** What `patch` would make of it. */
function patched(before: string, diff: string): string {
  const folder = mkdtempSync(join(tmpdir(), "postern-diff-"));
  try {
    writeFileSync(join(folder, "file"), before);
    execFileSync("patch", ["--quiet", "--force", join(folder, "file")], { input: `--- file\n+++ file\n${diff}\n` });
    return execFileSync("cat", [join(folder, "file")], { encoding: "utf8" });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What the diff itself says was there, and is there. */
function sides(before: string, diff: string): readonly [before: string, after: string] {
  const lines = before.split("\n");
  const old: string[] = [];
  const now: string[] = [];
  let at = 0;
  for (const hunk of diff.split(/^(?=@@ )/m)) {
    const [header = "", ...body] = hunk.replace(/\n$/, "").split("\n");
    const begin = Number(/@@ -(\d+),(\d+)/.exec(header)?.[1]);
    const count = Number(/@@ -(\d+),(\d+)/.exec(header)?.[2]);
    const from = count === 0 ? begin : begin - 1;
    old.push(...lines.slice(at, from));
    now.push(...lines.slice(at, from));
    for (const line of body) {
      if (line.startsWith("\\")) continue;
      if (!line.startsWith("+")) old.push(line.slice(1));
      if (!line.startsWith("-")) now.push(line.slice(1));
    }
    at = from + count;
  }
  return [[...old, ...lines.slice(at)].join("\n"), [...now, ...lines.slice(at)].join("\n")];
}

const text = fc
  .array(fc.constantFrom("a", "b", "c", "", "long line"), { maxLength: 30 })
  .map((lines) => `${lines.join("\n")}\n`);

it("is empty for equal texts", async () => {
  expect(await unifiedDiff("a\nb", "a\nb")).toBe("");
});

it("is what `diff -u` writes", async () => {
  expect(await unifiedDiff("a\nb\nc\n", "a\nB\nc\n")).toBe("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c");
  expect(await unifiedDiff("", "new\n")).toBe("@@ -0,0 +1,1 @@\n+new");
  expect(await unifiedDiff("old\n", "")).toBe("@@ -1,1 +0,0 @@\n-old");
  expect(await unifiedDiff("a", "a\n")).toBe("@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a");
});

it("holds both texts (10,000 pairs)", async () => {
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      const diff = await unifiedDiff(before, after);
      if (before === after) return diff === "";
      expect(sides(before, diff)).toEqual([before, after]);
      return true;
    }),
    { numRuns: 10_000 },
  );
});

it("is accepted by `patch`", async () => {
  const before = `${Array.from({ length: 60 }, (_, i) => `line ${i}`).join("\n")}\n`;
  const after = before.replace("line 3\n", "").replace("line 30\n", "line 30\nnew\n").replace("line 59", "the end");
  let made: string;
  try {
    made = patched(before, await unifiedDiff(before, after));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return; // no `patch` here
    throw error;
  }
  expect(made).toBe(after);
});

it("comes at once for two large texts without a common line", async () => {
  const many = (word: string): string => Array.from({ length: 20_000 }, (_, i) => `${word} ${i}\n`).join("");
  const [before, after] = [many("a"), many("b")];
  await expectWork(2_000, async () => expect((await unifiedDiff(before, after)).split("\n")).toHaveLength(40_001));
});
