import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, linkSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { appendLine, linesOf } from "./line-file.ts";

const makePipe = "mkfifo"; // of every system these tests run on
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "postern-lines-"));
  file = join(folder, "lines.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true }));

async function read(): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(file)) lines.push(line);
  return lines;
}

it("reads nothing from a missing or empty file", async () => {
  expect(await read()).toEqual([]);
  writeFileSync(file, "");
  expect(await read()).toEqual([]);
});

it("skips a line that was cut off, and removes it before the next write", async () => {
  await appendLine(file, '{"n":1}');
  appendFileSync(file, `{"n":2,"text":"${"x".repeat(200_000)}`);
  expect(await read()).toEqual(['{"n":1}']);
  await appendLine(file, '{"n":3}');
  expect(readFileSync(file, "utf8")).toBe('{"n":1}\n{"n":3}\n');
});

it("removes a file's only line if it was cut off", async () => {
  writeFileSync(file, '{"n":');
  await appendLine(file, '{"n":1}');
  expect(readFileSync(file, "utf8")).toBe('{"n":1}\n');
});

it("refuses links, second names, pipes and folders", async () => {
  const target = join(folder, "target");
  writeFileSync(target, "mine");
  symlinkSync(target, file);
  await expect(appendLine(file, "x")).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("is a link"),
  });
  await expect(read()).rejects.toMatchObject({ code: "config_invalid", message: expect.stringContaining("is a link") });
  rmSync(file);
  linkSync(target, file);
  await expect(appendLine(file, "x")).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("has more than one name"),
  });
  rmSync(file);
  execFileSync(makePipe, [file]);
  await expect(appendLine(file, "x")).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("is not a file"),
  });
  await expect(read()).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("is not a file"),
  });
  await expect(appendLine(folder, "x")).rejects.toThrow();
  expect(readFileSync(target, "utf8")).toBe("mine");
});

it("loses no acknowledged line after kill -9", async () => {
  const told: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", writer(round)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await killedAfter(child, told, 20 + round * 15);
    await appendLine(file, JSON.stringify({ id: `between ${round}`, content: "" }));
    const kept = new Set((await read()).map((line) => (JSON.parse(line) as { id: string }).id));
    expect(told.filter((id) => !kept.has(id))).toEqual([]);
  }
  expect(told.length).toBeGreaterThan(80);
  expect(readFileSync(file, "utf8").endsWith("\n")).toBe(true);
});

/** Writes as fast as it can, and says each line's id once it is kept. */
function writer(round: number): string {
  return `
    import { appendLine } from ${JSON.stringify(join(import.meta.dirname, "line-file.ts"))};
    for (let n = 0; ; n += 1) {
      const id = "${round}-" + n;
      await appendLine(${JSON.stringify(file)}, JSON.stringify({ id, content: "x".repeat((n % 7) * 30_000) }));
      process.stdout.write(id + "\\n");
    }`;
}

/** Kills it once it has told so many ids. Everything it told before is in `told`. */
async function killedAfter(child: ChildProcess, told: string[], ids: number): Promise<void> {
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    if (text.split("\n").length > ids) child.kill("SIGKILL");
  });
  await once(child, "close");
  told.push(...text.split("\n").slice(0, -1));
}
