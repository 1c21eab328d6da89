import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { lastLines, linesAfter } from "./reader.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-reader-"));
});
afterAll(() => rm(folder, { recursive: true }));

const numbered = (line: string): string | undefined => (line.startsWith("#") ? line : undefined);

it("reads from the end what reading from the start finds last, however long lines are and however they are cut", async () => {
  const path = join(folder, "lines.jsonl");
  const line = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 40 }).map((text) => text.replaceAll(/[\r\n\u2028\u2029\v\f\u0085]/g, "")),
    fc.integer({ min: 100_000, max: 400_000 }).map((length) => "ü".repeat(length)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.boolean(), fc.nat(14), async (texts, ends, limit) => {
      const lines = texts.map((text, i) => (i % 3 === 2 ? text.replace(/^#/, "") : `#${i} ${text}`));
      await writeFile(path, lines.join("\n") + (ends ? "\n" : ""));
      const all = await linesAfter(path, Number.POSITIVE_INFINITY, numbered);
      expect(await lastLines(path, limit, numbered)).toEqual(limit === 0 ? [] : all.slice(-limit));
    }),
    { numRuns: 60 },
  );
});

it("has no lines where there is no file", async () => {
  expect(await lastLines(join(folder, "none.jsonl"), 10, numbered)).toEqual([]);
});
