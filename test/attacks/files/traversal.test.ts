import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Disk, realDisk } from "../../../packages/postern/src/builtin/files/disk.ts";
import { fileToolsOn } from "../../../packages/postern/src/builtin/files/files.ts";
import type { ToolOutcome } from "../../../packages/postern/src/index.ts";
import { readable } from "../../../packages/postern/src/results/readable.ts";
import { corpus } from "../../fakes/corpus.ts";
import { isWhole } from "../../fakes/share.ts";
import { descriptors, type FileFixture, fileFixture, put } from "./file-fixture.ts";

const published = corpus<{ readonly p: string }>("path-traversal/payloads.dev.json").map(({ p }) => p);
const naughty = corpus<string>("naughty-strings/blns.dev.json");
const canary = "CANARY-OUTSIDE-THE-ROOT";
/** Syncs nothing, because no file outlives the test. */
const fastDisk: Disk = { ...realDisk, sync: async () => {}, syncData: async () => {} };

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return unescape(text);
  }
};
/** The payload unchanged, decoded once and twice, and after the root's name. */
const forms = (payload: string): readonly string[] => [
  payload,
  decoded(payload),
  decoded(decoded(payload)),
  `workspace/${payload}`,
];

/** Writes canaries wherever a few `..` lead; they must not change. */
function surround(h: FileFixture): () => string {
  for (const place of ["", "runs", "runs/run_1", "runs/run_1/logs", "etc"]) put(join(h.base, place, "passwd"), canary);
  put(join(h.run, "events.jsonl"), canary);
  return () => pictureOf(h.base, join(h.run, "workspace"));
}

function pictureOf(folder: string, but: string): string {
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name))
    .filter((path) => path !== but)
    .map((path) => {
      const stats = lstatSync(path);
      if (stats.isDirectory()) return `${path}/\n${pictureOf(path, but)}`;
      return `${path} ${stats.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, "latin1")}`;
    })
    .join("\n");
}

const leaks = (outcome: ToolOutcome): boolean => /CANARY|root:x:0/.test(JSON.stringify(outcome));

describe.skipIf(published.length === 0).each([true, false])(
  "published traversal payloads (openat2 where it is installed: %s)",
  (openat2) => {
    // Both ways of opening give the same answers (guard/folder.test.ts), so the second tries a fifth of the payloads:
    // the first tries all in `npm run test:system`, every fourth otherwise.
    const every = (isWhole ? 1 : 4) * (openat2 ? 1 : 5);
    const payloads = published.filter((_, i) => i % every === 0);
    const tools = (options: Parameters<typeof fileToolsOn>[0]): ReturnType<typeof fileToolsOn> =>
      fileToolsOn({ ...options, openat2 }, fastDisk);

    it("open nothing, leak nothing and leave no descriptor when read, stat and listed in four forms", async () => {
      await using h = await fileFixture({ tools, runtime: { store: "memory" } });
      const picture = surround(h);
      const before = picture();
      await h.call("list_files", {}); // the search thread has descriptors of its own
      const open = descriptors();
      let opened = 0;
      for (const payload of payloads) {
        for (const path of forms(payload)) {
          for (const tool of path === payload ? ["read_file", "stat_file"] : ["read_file"]) {
            const outcome = await h.call(tool, { path });
            if (outcome.refusal?.code === "arguments_invalid") continue;
            const isRootItself =
              tool === "stat_file" &&
              outcome.structured !== undefined &&
              /"workspace"/.test(JSON.stringify(outcome.structured));
            if (outcome.status === "ok" && !isRootItself) opened += 1;
            expect(leaks(outcome), path).toBe(false);
          }
        }
      }
      expect(opened).toBe(0);
      expect(picture()).toBe(before);
      expect(descriptors()).toBe(open);
    }, 120_000);

    it("find only the workspace when searched and listed", async () => {
      await using h = await fileFixture({ tools, runtime: { store: "memory" } });
      surround(h);
      put(join(h.workspace, "own.txt"), "own");
      for (const path of payloads) {
        for (const [tool, given] of [
          ["list_files", { path }],
          ["grep_files", { path, pattern: "CANARY|root:" }],
        ] as const) {
          const outcome = await h.call(tool, given);
          expect(leaks(outcome), path).toBe(false);
          const found = outcome.structured as
            | { readonly entries?: readonly unknown[]; readonly matches?: readonly unknown[] }
            | undefined; // as the tool answers
          if (outcome.status === "ok")
            expect([path, found?.matches ?? [], (found?.entries ?? []).length <= 1]).toEqual([path, [], true]);
        }
      }
    }, 120_000);

    it("change nothing outside when written, appended, edited and moved to", async () => {
      await using h = await fileFixture({ tools, runtime: { store: "memory" } });
      const picture = surround(h);
      const before = picture();
      put(join(h.workspace, "own.txt"), "own");
      for (const [i, path] of [...new Set(payloads.flatMap((payload) => [payload, decoded(payload)]))].entries()) {
        await h.call("write_file", { path, content: "evil" });
        if (i % 8 !== 0) continue; // the others go the same way to the same guard
        await h.call("append_file", { path, content: "evil" });
        await h.call("edit_file", { path, old_text: "evil", new_text: "worse", count: 2 });
        await h.call("move_file", { from: "own.txt", to: path });
        await h.call("move_file", { from: path, to: "own.txt" });
      }
      expect(picture()).toBe(before);
    }, 120_000);
  },
);

it.skipIf(naughty.length === 0)(
  "come back byte for byte as naughty names and content, or are refused with a reason",
  async () => {
    await using h = await fileFixture({ tools: (options) => fileToolsOn(options, fastDisk) });
    let kept = 0;
    for (const [i, text] of naughty.entries()) {
      const written = await h.call("write_file", { path: `content-${i}.txt`, content: text });
      expect(written.status, text).toBe("ok");
      expect(readFileSync(join(h.workspace, `content-${i}.txt`), "utf8")).toBe(text);
      const named = await h.call("write_file", { path: `names/${text}`, content: text });
      if (named.status !== "ok") {
        expect(named.structured, text).toMatchObject({ rejected: expect.any(String) });
        continue;
      }
      kept += 1;
      const read = await h.call("read_file", { path: `names/${text}` });
      expect(read.text).toBe(readable(text.replaceAll("\0", "\uFFFD")));
    }
    expect(kept).toBeGreaterThan(150);
  },
  60_000,
);
