import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../packages/postern/src/index.ts";
import { type FileFixture, type FileFixtureOptions, fileFixture, put } from "./file-fixture.ts";

/** The run's own roots, which are empty, and `site` with two files. */
async function withSite(options: FileFixtureOptions = {}): Promise<FileFixture> {
  const h = await fileFixture({
    ...options,
    files: (base) => {
      mkdirSync(join(base, "site/docs"), { recursive: true });
      return { roots: { site: { path: join(base, "site"), writable: true } } };
    },
  });
  put(join(h.base, "site/a.txt"), "needle\n");
  put(join(h.base, "site/docs/b.txt"), "needle\n");
  return h;
}

const structured = async (h: FileFixture, tool: string, given: JsonObject): Promise<unknown> =>
  (await h.call(tool, given)).structured;

describe("a glob that begins with a root's name", () => {
  it.each([
    ["site/*.txt", ["site/a.txt"]],
    ["./site/**/*.txt", ["site/a.txt", "site/docs/b.txt"]],
    ["site/docs/*", ["site/docs/b.txt"]],
    ["site/", ["site/a.txt", "site/docs/"]],
  ])("is taken from that root: %s", async (pattern, paths) => {
    await using h = await withSite();
    expect(await structured(h, "glob_files", { pattern })).toEqual({ paths });
    expect(await structured(h, "glob_files", { pattern, path: "." })).toEqual({ paths });
  });

  it("limits grep_files to files of that root", async () => {
    await using h = await withSite();
    expect(await structured(h, "grep_files", { pattern: "needle", files: "site/*.txt" })).toMatchObject({
      matches: [{ path: "site/a.txt" }],
    });
  });

  it("works with the only root of a library too", async () => {
    await using h = await fileFixture({
      files: (base) => {
        mkdirSync(join(base, "own"));
        return { runs: undefined, roots: { work: { path: join(base, "own") } } };
      },
    });
    put(join(h.base, "own/a.txt"));
    for (const pattern of ["*.txt", "work/*.txt", "work/**"])
      expect(await structured(h, "glob_files", { pattern }), pattern).toEqual({ paths: ["work/a.txt"] });
  });

  it("stays out of reach of a rule that denies a target", async () => {
    await using h = await withSite({
      runtime: { policy: { rules: [{ effect: "deny", target: { equals: "site/docs" } }] } },
    });
    for (const [tool, given] of [
      ["glob_files", { pattern: "site/docs/*" }],
      ["grep_files", { pattern: "needle", files: "site/docs/*" }],
    ] as const)
      expect((await h.call(tool, given)).refusal?.code, tool).toBe("permission_denied");
  });
});

describe("an empty answer of the default root", () => {
  const note = "Only workspace/ was looked into, because the path names no root; there are also deliverables/, site/.";

  it.each([
    ["list_files", {}],
    ["glob_files", { pattern: "**/*.txt" }],
    ["grep_files", { pattern: "needle" }],
  ] as const)("of %s names the other roots", async (tool, given) => {
    await using h = await withSite();
    const answer = await h.call(tool, given);
    expect(answer.structured).toMatchObject({ note });
    expect(answer.text).toContain(note);
  });

  it("is one of read_file and stat_file for a file that is in another root", async () => {
    await using h = await withSite();
    for (const tool of ["read_file", "stat_file"]) {
      const { text } = await h.call(tool, { path: "a.txt" });
      expect(text).toBe(`\`a.txt\` does not exist. ${note}`);
    }
    expect((await h.call("read_file", { path: "site/gone.txt" })).text).toBe("`site/gone.txt` does not exist.");
  });

  it("has no note if something was found, or if the root was named", async () => {
    await using h = await withSite();
    expect(await structured(h, "glob_files", { pattern: "*.md", path: "site" })).toEqual({ paths: [] });
    put(join(h.workspace, "x.txt"));
    expect(await structured(h, "glob_files", { pattern: "*.txt" })).toEqual({ paths: ["workspace/x.txt"] });
  });
});

describe("a name in NFD on the disk", () => {
  const nfd = "e\u0301tude.txt";
  const nfc = "\u00e9tude.txt";
  const folder = "u\u0308ber";

  it("is found by its NFC form by each tool, and no second file is made", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, folder, nfd), "one\n");
    const path = `\u00fcber/${nfc}`;
    expect((await h.call("read_file", { path })).text).toBe("one\n");
    expect(await structured(h, "stat_file", { path, digest: true })).toMatchObject({ type: "file" });
    expect(await structured(h, "grep_files", { pattern: "one", path })).toMatchObject({ matches: [{ line: 1 }] });
    expect(await structured(h, "glob_files", { pattern: "\u00fcber/\u00e9*" })).toMatchObject({
      paths: [`workspace/${folder}/${nfd}`],
    });
    await h.call("edit_file", { path, old_text: "one", new_text: "two" });
    await h.call("append_file", { path, content: "three\n" });
    await h.call("write_file", { path, content: "four\n" });
    expect(readdirSync(join(h.workspace, folder))).toEqual([nfd]);
    expect((await h.call("read_file", { path })).text).toBe("four\n");
    await h.call("move_file", { from: path, to: "b.txt" });
    expect(readdirSync(h.workspace).sort()).toEqual(["b.txt", folder]);
  });

  it("has one target for rules in both forms", async () => {
    const rules = [{ effect: "deny", tool: "read_file", target: { equals: `workspace/${nfc}` } }] as const;
    await using h = await fileFixture({ runtime: { policy: { rules: [...rules] } } });
    put(join(h.workspace, nfd));
    for (const path of [nfc, nfd])
      expect((await h.call("read_file", { path })).refusal?.code).toBe("permission_denied");
  });
});
