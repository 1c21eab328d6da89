import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { corpus } from "../../fakes/corpus.ts";
import { inShortTurns } from "../../fakes/held-up.ts";
import { descriptors, type FileFixture, fileFixture, put } from "./file-fixture.ts";

const attacks = corpus<{ readonly id: string; readonly re: string; readonly attack_js: string }>(
  "redos/regexlib_js.dev.json",
);

interface Answer {
  readonly entries: readonly { readonly path: string; readonly type: string; readonly bytes?: number }[];
  readonly paths: readonly string[];
  readonly matches: readonly { readonly path: string; readonly line: number; readonly text: string }[];
  readonly files: number;
  readonly truncated?: string;
  readonly skipped?: Readonly<Record<string, number>>;
}

async function ask(h: FileFixture, tool: string, given: Record<string, string | number | boolean>): Promise<Answer> {
  const outcome = await h.call(tool, given);
  expect(outcome.status, outcome.text).toBe("ok");
  return outcome.structured as unknown as Answer; // as these tools answer
}

async function tree(): Promise<FileFixture> {
  const h = await fileFixture();
  put(join(h.workspace, "src/a.ts"), "const needle = 1;\r\nconst b = 2;\r\n");
  put(join(h.workspace, "src/deep/b.md"), "# Needle\n\nneedle needle\n");
  put(join(h.workspace, "build/out.js"), "needle");
  put(join(h.workspace, "build/keep.js"), "needle");
  put(join(h.workspace, "src/local.tmp"), "needle");
  put(join(h.workspace, ".git/HEAD"), "needle");
  put(join(h.workspace, "bin.dat"), Buffer.from([0, 1, 2, ...Buffer.from("needle")]));
  writeFileSync(join(h.workspace, ".gitignore"), "build/*\n!build/keep.js\n");
  writeFileSync(join(h.workspace, "src/.gitignore"), "*.tmp\n");
  return h;
}

describe("list_files, glob_files and grep_files", () => {
  it("stay inside: they show a link without following it, and search no hard link (case 255)", async () => {
    await using h = await tree();
    mkdirSync(join(h.base, "outside"));
    put(join(h.base, "outside/secret.txt"), "needle outside");
    symlinkSync(join(h.base, "outside"), join(h.workspace, "way-out"));
    symlinkSync("../../../outside/secret.txt", join(h.workspace, "file-out"));
    linkSync(join(h.base, "outside/secret.txt"), join(h.workspace, "hard"));
    const listed = await ask(h, "list_files", { depth: 5 });
    expect(listed.entries.filter(({ type }) => type === "link").map(({ path }) => path)).toEqual([
      "workspace/file-out",
      "workspace/way-out",
    ]);
    const found = await ask(h, "grep_files", { pattern: "needle" });
    expect(found.matches.every(({ text }) => !text.includes("outside"))).toBe(true);
    expect(found.skipped).toMatchObject({ hard_link: 1, binary: 1 });
    expect(await ask(h, "glob_files", { pattern: "**/secret*" })).toMatchObject({ paths: [] });
    for (const path of ["way-out", "file-out", "way-out/."])
      expect((await h.call("grep_files", { pattern: "x", path })).structured).toMatchObject({ rejected: "link" });
  });

  it("leave out what .gitignore excludes, also a nested one, and count it", async () => {
    await using h = await tree();
    const listed = await ask(h, "list_files", { depth: 3 });
    expect(listed.entries.map(({ path }) => path.slice("workspace/".length))).toEqual([
      ...[".gitignore", "bin.dat", "build", "build/keep.js", "src", "src/.gitignore", "src/a.ts", "src/deep"],
      "src/deep/b.md",
    ]);
    expect(listed.skipped).toEqual({ ignored: 3 });
    const all = await ask(h, "list_files", { depth: 3, include_ignored: true });
    expect(all.entries.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["workspace/.git/HEAD", "workspace/build/out.js", "workspace/src/local.tmp"]),
    );
    expect((await ask(h, "list_files", { path: "src/" })).entries.map(({ path }) => path)).not.toContain(
      "workspace/src/local.tmp",
    );
    expect((await ask(h, "list_files", { path: ".git" })).entries).toEqual([
      { path: "workspace/.git/HEAD", type: "file", bytes: 6 },
    ]);
  });

  it("find lines with their numbers, in one file too, with any line breaks", async () => {
    await using h = await tree();
    expect((await ask(h, "grep_files", { pattern: "needle" })).matches).toEqual([
      { path: "workspace/build/keep.js", line: 1, text: "needle" },
      { path: "workspace/src/a.ts", line: 1, text: "const needle = 1;" },
      { path: "workspace/src/deep/b.md", line: 3, text: "needle needle" },
    ]);
    expect((await ask(h, "grep_files", { pattern: "^const.*;$", path: "src/a.ts" })).matches).toHaveLength(2);
    expect(
      (await ask(h, "grep_files", { pattern: "NEEDLE", ignore_case: true, files: "**/*.md" })).matches,
    ).toHaveLength(2);
    expect((await ask(h, "grep_files", { pattern: "= 1;", literal: true })).matches).toHaveLength(1);
    expect((await ask(h, "grep_files", { pattern: "\\Aconst b" })).matches).toMatchObject([{ line: 2 }]);
    expect((await ask(h, "grep_files", { pattern: "(?-m)^const b" })).matches).toMatchObject([{ line: 2 }]);
    expect((await ask(h, "grep_files", { pattern: "\\u006eeedle", max_matches: 2 })).truncated).toBe("results");
    expect(h.emitted.at(-1)).toMatchObject({ type: "file.read", data: { files: expect.any(Number) } });
  });

  it("match globs against whole paths, folders included", async () => {
    await using h = await tree();
    const glob = async (pattern: string, path = ""): Promise<readonly string[]> =>
      (await ask(h, "glob_files", { pattern, path })).paths;
    expect(await glob("**/*.{ts,md}")).toEqual(["workspace/src/a.ts", "workspace/src/deep/b.md"]);
    expect(await glob("*")).toEqual([
      "workspace/.gitignore",
      "workspace/bin.dat",
      "workspace/build/",
      "workspace/src/",
    ]);
    expect(await glob("**", "src/deep")).toEqual(["workspace/src/deep/b.md"]);
    expect(await glob("[!a]*/**/?.[l-n]d")).toEqual(["workspace/src/deep/b.md"]);
  });

  it("say that there is more when a result is cut off", async () => {
    await using h = await fileFixture({ files: { maxResults: 10 } });
    for (let i = 0; i < 30; i += 1) put(join(h.workspace, `f${i}.txt`), "x\n".repeat(30));
    expect(await ask(h, "list_files", {})).toMatchObject({ truncated: "results" });
    expect((await ask(h, "glob_files", { pattern: "*.txt" })).paths).toHaveLength(10);
    const found = await ask(h, "grep_files", { pattern: "x" });
    expect([found.matches.length, found.truncated]).toEqual([10, "results"]);
    expect(found.matches.every(({ path }) => path === "workspace/f0.txt")).toBe(true);
  });

  it("refuse an invalid pattern and say what is wrong with it", async () => {
    await using h = await tree();
    for (const pattern of ["(", "a(?=b)", "(a)\\1", "a{2,1}", "(a{1000}){1000}", "x".repeat(1001), "[z-a]"]) {
      const outcome = await h.call("grep_files", { pattern });
      expect([pattern.slice(0, 20), outcome.structured]).toMatchObject([
        pattern.slice(0, 20),
        { rejected: "pattern_invalid" },
      ]);
    }
  });
});

it.skipIf(attacks.length === 0)(
  "end 260 published catastrophic patterns in time, and leave the event loop free (case 255)",
  async () => {
    await using h = await fileFixture({ files: { searchTimeMs: 5_000 }, runtime: { store: "memory" } });
    await ask(h, "grep_files", { pattern: "warm" });
    const open = descriptors();
    const ends = new Map<string, number>();
    let slowest = 0;
    for (const { re, attack_js: make } of attacks) {
      const text = attackText(make);
      writeFileSync(join(h.workspace, "attack.txt"), text);
      const began = performance.now();
      const outcome = await inShortTurns(50, () => h.call("grep_files", { pattern: re }));
      slowest = Math.max(slowest, performance.now() - began);
      const end =
        outcome.status === "ok" ? "ok" : String((outcome.structured as { readonly rejected?: string }).rejected); // as the tool answers
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    expect([...ends.keys()].sort()).toEqual(["ok", "pattern_invalid"]);
    expect(ends.get("ok")).toBeGreaterThan(220);
    expect(slowest).toBeLessThan(5_000);
    expect(descriptors()).toBe(open);
  },
  120_000,
);

/** The collection gives its texts as expressions over `i`. A text that grows with `i * 10000` is long enough at 3. */
function attackText(make: string): string {
  const at = (i: number): string => String(new Function("i", `return ${make}`)(i));
  const short = at(3);
  return short.length < 100 ? at(30_000) : short;
}

it("kill a search that takes too long, close its descriptors, and search again", async () => {
  await using h = await fileFixture({ files: { searchTimeMs: 1 } });
  for (let i = 0; i < 300; i += 1) put(join(h.workspace, `d${i}/f.txt`), "x".repeat(20_000));
  await h.call("list_files", {});
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => h.call("grep_files", { pattern: "(x+)+y|z" })));
  for (const { status, structured } of outcomes)
    expect(status === "ok" ? (structured as unknown as Answer).truncated : structured).toEqual(
      status === "ok" ? "time" : expect.objectContaining({ rejected: "search_stopped" }),
    );
  await using again = await fileFixture();
  put(join(again.workspace, "a.txt"), "x");
  expect((await ask(again, "grep_files", { pattern: "x" })).matches).toHaveLength(1);
});
