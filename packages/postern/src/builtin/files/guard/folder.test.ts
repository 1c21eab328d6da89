import { execFileSync } from "node:child_process";
import {
  closeSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Beneath, type Folder, folderHandle, HeldFolder, walkBeneath } from "./folder.ts";
import { loadOpenat2 } from "./openat2.ts";
import { PlainFolder } from "./plain-folder.ts";
import { rejectionOf } from "./rejection.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "postern-guard-")));
const root = join(base, "root");
const openat2 = await loadOpenat2();

beforeAll(() => {
  mkdirSync(join(root, "a/b/c"), { recursive: true });
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/f"), "outside");
  writeFileSync(join(root, "a/b/c/f"), "deep");
  writeFileSync(join(root, "f"), "top");
  symlinkSync("../../outside", join(root, "a/out"));
  symlinkSync("b", join(root, "a/in"));
  symlinkSync("../f", join(root, "a/up"));
  linkSync(join(base, "outside/f"), join(root, "a/hard"));
  execFileSync("mkfifo", [join(root, "a/pipe")]);
});
afterAll(() => rmSync(base, { recursive: true }));

const device = (): number => statSync(root).dev;
const held = (beneath: Beneath, hardLinks = false): Folder =>
  new HeldFolder(openSync(root, folderHandle), { device: device(), hardLinks }, beneath);

/** What it comes to: a file's content, `folder`, or why not. */
function tried(folder: Folder, parts: readonly string[], wanted: "file" | "folder"): string {
  try {
    if (wanted === "folder") {
      using inner = folder.descend(parts);
      return `folder ${readdirSync(inner.self).sort().join()}`;
    }
    const descriptor = folder.openFile(parts);
    try {
      return readFileSync(descriptor, "utf8");
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return rejectionOf(error)?.reason ?? String(error);
  }
}

const known: readonly (readonly [path: string, file: string, folder: string])[] = [
  ["f", "top", "not_a_folder"],
  ["a/b/c/f", "deep", "not_a_folder"],
  ["a/b/c", "is_a_folder", "folder f"],
  ["a/out", "link", "link"],
  ["a/out/f", "link", "link"],
  ["a/in/c/f", "link", "link"],
  ["a/up", "link", "link"],
  ["a/hard", "hard_link", "not_a_folder"],
  ["a/pipe", "special_file", "not_a_folder"],
  ["f/x", "not_a_folder", "not_a_folder"],
  ["none", "not_found", "not_found"],
];
const ways: readonly (readonly [name: string, open: () => Folder])[] = [
  ["the walk", () => held(walkBeneath)],
  ...(openat2 === undefined ? [] : ([["openat2", () => held(openat2)]] as const)),
  ["by path", () => new PlainFolder(root, { device: device(), hardLinks: false })],
];

describe.each(ways)("%s", (_name, open) => {
  it.each(known)("`%s` as a file is %s, as a folder %s", (path, file, folder) => {
    using top = open();
    expect([tried(top, path.split("/"), "file"), tried(top, path.split("/"), "folder")]).toEqual([file, folder]);
  });

  it("leaves no descriptor open", () => {
    using top = open();
    const before = readdirSync("/proc/self/fd").length;
    for (const [path] of known) {
      tried(top, path.split("/"), "file");
      tried(top, path.split("/"), "folder");
    }
    expect(readdirSync("/proc/self/fd")).toHaveLength(before);
  });
});

it("tests openat2, because koffi is a development dependency", () => {
  expect(openat2).toBeDefined();
});

it("gives the same results by walk and openat2 (20,000 paths)", async () => {
  if (openat2 === undefined) return;
  const name = fc.constantFrom("a", "b", "c", "f", "in", "out", "up", "hard", "pipe", "none", "..x", " ");
  using walk = held(walkBeneath);
  using kernel = held(openat2);
  await fc.assert(
    fc.property(
      fc.array(name, { minLength: 1, maxLength: 6 }),
      fc.constantFrom("file" as const, "folder" as const),
      (parts, wanted) => {
        expect(tried(kernel, parts, wanted)).toBe(tried(walk, parts, wanted));
      },
    ),
    { numRuns: 20_000 },
  );
});

it("uses hard links only with the option", () => {
  using folder = held(walkBeneath, true);
  expect(tried(folder, ["a", "hard"], "file")).toBe("outside");
});

it("keeps an open folder if its name moves to another", () => {
  using top = held(walkBeneath);
  mkdirSync(join(root, "moving"));
  writeFileSync(join(root, "moving/f"), "mine");
  using moving = top.descend(["moving"]);
  renameSync(join(root, "moving"), join(root, "moved"));
  symlinkSync(join(base, "outside"), join(root, "moving"));
  expect(tried(moving, ["f"], "file")).toBe("mine");
  expect(tried(top, ["moving", "f"], "file")).toBe("link");
});

it("does not enter another file system beneath the root", () => {
  using folder = new HeldFolder(
    openSync("/", folderHandle),
    { device: statSync("/").dev, hardLinks: false },
    walkBeneath,
  );
  expect(tried(folder, ["proc"], "folder")).toBe("other_device");
  expect(tried(folder, ["proc", "version"], "file")).toBe("other_device");
});
