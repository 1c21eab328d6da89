import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { linesIn } from "./reading.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-reader-"));
});
afterAll(() => rm(folder, { recursive: true }));

const numbered = (line: string): string | undefined => (line.startsWith("#") ? line : undefined);

it("reads the first and the last wanted lines, in order", async () => {
  const path = join(folder, "lines.jsonl");
  const lines = Array.from({ length: 5_000 }, (_, i) => (i % 3 === 2 ? `other ${i}` : `#${i}`));
  await writeFile(path, `${lines.join("\n")}\n`);
  const wanted = lines.filter((line) => line.startsWith("#"));
  for (const limit of [0, 1, 7, 999, 5_000]) {
    expect(await linesIn(path, numbered, { limit })).toEqual(wanted.slice(0, limit));
    expect(await linesIn(path, numbered, { limit, which: "last" })).toEqual(limit === 0 ? [] : wanted.slice(-limit));
  }
});

it("reads a line whole that holds the line breaks of Unicode", async () => {
  const path = join(folder, "breaks.jsonl");
  await writeFile(path, "#one\u2028two\u2029three\n#four\n");
  expect(await linesIn(path, numbered, { limit: 10 })).toEqual(["#one\u2028two\u2029three", "#four"]);
});

it("has no lines if there is no file", async () => {
  expect(await linesIn(join(folder, "none.jsonl"), numbered, { limit: 10, which: "last" })).toEqual([]);
});
