import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { appendLine, LineFile, linesOf } from "./line-file.ts";

function aPath(): string {
  return join(ownFolder(), "lines.jsonl");
}

async function openedFile(path: string): Promise<{ readonly file: LineFile; readonly changed: string[] }> {
  const changed: string[] = [];
  const file = new LineFile(path, { code: "request_invalid", changed: (what) => void changed.push(what) });
  await file.open();
  return { file, changed };
}

describe("lines that wait for one append", () => {
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
    const file = new LineFile(path, { code: "request_invalid", changed: () => {} });
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
    const file = new LineFile(path, { code: "request_invalid", changed: () => {} });
    await expect(file.open()).rejects.toThrow();
    file.add("two");
    await expect(file.flush()).rejects.toThrow();
    expect(readFileSync(other, "utf8")).toBe("mine\n");
  });

  it("refuses a file with a line that is too long, and leaves it unchanged", async () => {
    const path = aPath();
    writeFileSync(path, "x".repeat(2_000_000));
    await expect(new LineFile(path, { code: "request_invalid", changed: () => {} }).open()).rejects.toThrow(
      "longer than 1 MiB",
    );
    expect(readFileSync(path).length).toBe(2_000_000);
  });
});

let file: string;
beforeEach(() => {
  file = aPath();
});

async function read(): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(file)) lines.push(line);
  return lines;
}

describe("a line that is on the disk at once", () => {
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
    const folder = dirname(file);
    const target = join(folder, "target");
    writeFileSync(target, "mine");
    symlinkSync(target, file);
    await expect(appendLine(file, "x")).rejects.toMatchObject({ code: "config_invalid" });
    await expect(read()).rejects.toMatchObject({ code: "config_invalid" });
    rmSync(file);
    linkSync(target, file);
    await expect(appendLine(file, "x")).rejects.toMatchObject({ code: "config_invalid" });
    rmSync(file);
    execFileSync(makePipe, [file]);
    await expect(appendLine(file, "x")).rejects.toMatchObject({ code: "config_invalid" });
    await expect(read()).rejects.toMatchObject({ code: "config_invalid" });
    await expect(appendLine(folder, "x")).rejects.toThrow();
    expect(readFileSync(target, "utf8")).toBe("mine");
  });

  it("keeps a line whole that holds the line breaks of Unicode", async () => {
    const lines = ['{"text":"one\u2028two\u2029three\u0085four"}', '{"text":"five"}'];
    for (const line of lines) await appendLine(file, line);
    expect(await read()).toEqual(lines);
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
});

const makePipe = "mkfifo"; // of every system these tests run on

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
