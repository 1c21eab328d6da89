import { appendFileSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ownFolder } from "../../../test/fakes/own-folder.ts";
import { LineFile } from "./line-file.ts";

function aPath(): string {
  return join(ownFolder(), "lines.jsonl");
}

async function openedFile(path: string): Promise<{ readonly file: LineFile; readonly changed: string[] }> {
  const changed: string[] = [];
  const file = new LineFile(path, (what) => void changed.push(what));
  await file.open();
  return { file, changed };
}

it("adds lines, in order, in one append", async () => {
  const path = aPath();
  const { file } = await openedFile(path);
  file.add("one");
  file.add("two");
  await file.flush();
  file.add("three");
  await file.flush();
  await file.flush();

  expect(readFileSync(path, "utf8")).toBe("one\ntwo\nthree\n");
});

it("cuts a torn end and continues after the last whole line", async () => {
  const whole = '{"a":1}\n{"b":"ü€😀"}\n';
  const bytes = Buffer.from(whole);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: bytes.length }), async (length) => {
      const path = aPath();
      writeFileSync(path, bytes.subarray(0, length));
      const { file } = await openedFile(path);
      file.add("next");
      await file.flush();
      const kept = bytes.subarray(0, length).lastIndexOf(10) + 1;
      expect(readFileSync(path)).toEqual(Buffer.concat([bytes.subarray(0, kept), Buffer.from("next\n")]));
    }),
    { numRuns: 60 },
  );
});

it("passes on each existing line, also across its reads", async () => {
  const path = aPath();
  const lines = Array.from({ length: 5_000 }, (_, i) => `${i} ${"x".repeat(i % 97)}`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  const received: string[] = [];
  const file = new LineFile(path, () => {});
  await file.open((line) => void received.push(line));
  expect(received).toEqual(lines);
});

it("keeps its lines while nothing can be written, and writes them all later", async () => {
  const path = aPath();
  const { file } = await openedFile(path);
  file.add("one");
  rmSync(path);
  mkdirSync(path);
  await expect(file.flush()).rejects.toThrow();
  file.add("two");
  await expect(file.flush()).rejects.toThrow();
  expect(file.isWaiting).toBe(true);
  rmSync(path, { recursive: true });
  await file.flush();
  expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
  expect(file.isWaiting).toBe(false);
});

it("reports writes of another process, and adds no line to a torn one", async () => {
  const path = aPath();
  const { file, changed } = await openedFile(path);
  file.add("one");
  await file.flush();
  appendFileSync(path, "strange");
  file.add("two");
  await file.flush();
  expect(changed).toEqual([path]);
  expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
});

it.each([
  ["a link", (path: string, other: string) => symlinkSync(other, path)],
  ["a second name of another file", (path: string, other: string) => linkSync(other, path)],
])("does not write through %s", async (_, put) => {
  const path = aPath();
  const other = `${path}.other`;
  writeFileSync(other, "mine\n");
  put(path, other);
  const file = new LineFile(path, () => {});
  await expect(file.open()).rejects.toThrow();
  file.add("two");
  await expect(file.flush()).rejects.toThrow();
  expect(readFileSync(other, "utf8")).toBe("mine\n");
});

it("refuses a file with a line that is too long, and leaves it unchanged", async () => {
  const path = aPath();
  writeFileSync(path, "x".repeat(2_000_000));
  await expect(new LineFile(path, () => {}).open()).rejects.toThrow("longer than 1 MiB");
  expect(readFileSync(path).length).toBe(2_000_000);
});
