import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileToolOptions } from "../../../packages/postern/src/builtin/index.ts";
import { corpus } from "../../fakes/corpus.ts";
import { descriptors, fileFixture, put } from "./file-fixture.ts";

interface GoCase {
  readonly name: string;
  readonly fs: readonly string[];
  readonly open: string;
  readonly target: string | null;
  readonly wantError: boolean;
}

interface ResolveCase {
  readonly id: string;
  readonly path: string;
  readonly opt: string | null;
  readonly chroot_semantics: "Ok" | "Err";
  readonly result: string;
}

interface TreeEntry {
  readonly path: string;
  readonly kind: "dir" | "file" | "symlink" | "fifo" | "sock";
  readonly target: string | null;
  readonly root_only: boolean;
}

interface PathCase {
  readonly path: string;
  readonly allowed: readonly unknown[];
  readonly expect: boolean;
}

const goCases = corpus<GoCase>("root-resolve/go_os_root_cases.dev.json");
const resolveCases = corpus<ResolveCase>("root-resolve/libpathrs_cases.dev.json");
const tree = corpus<TreeEntry>("root-resolve/libpathrs_tree.dev.json");
const pathCases = corpus<PathCase>("mcp-filesystem/path_validation.dev.json");

function link(path: string, target: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

describe.each([true, false])("openat2 where it is installed: %s", (openat2) => {
  it.skipIf(goCases.length === 0)("refuses what Go's os.Root must refuse, and opens only the named file", async () => {
    const refusedMore: string[] = [];
    for (const row of goCases) {
      const base = realpathSync(mkdtempSync(join(tmpdir(), "postern-go-")));
      const root = join(base, "ROOT");
      mkdirSync(root);
      for (const entry of row.fs) {
        const [name = "", target] = entry.split(" => ");
        if (target !== undefined) link(join(root, name), target.replace("$ABS", root));
        else mkdirSync(join(root, name), { recursive: true });
      }
      put(join(base, "target"), "outside");
      if (row.target !== null && !row.wantError) put(join(root, row.target), row.target);
      {
        await using h = await fileFixture({ files: { openat2, roots: { root: { path: root } } } });
        const outcome = await h.call("read_file", { path: row.open === "" ? "root" : `root/${row.open}` });
        expect(outcome.text, row.name).not.toBe("outside");
        if (outcome.status === "ok")
          expect([row.name, row.wantError, outcome.text]).toEqual([row.name, false, row.target]);
        else if (!row.wantError) refusedMore.push(row.name);
      }
      rmSync(base, { recursive: true });
    }
    // Links and `..` are always refused, also if they would stay inside.
    expect(
      refusedMore.every((name) => /link|dotdot/.test(name)),
      refusedMore.join(),
    ).toBe(true);
    expect(refusedMore).toHaveLength(8);
  });

  it.skipIf(resolveCases.length === 0)(
    "finds only the named object for libpathrs's table, and opens no pipe or socket",
    async () => {
      const base = realpathSync(mkdtempSync(join(tmpdir(), "postern-resolve-")));
      const root = join(base, "root");
      mkdirSync(root);
      for (const { path, kind, target } of tree) {
        const at = join(root, path);
        if (kind === "dir") mkdirSync(at, { recursive: true });
        else if (kind === "file") put(at, `/${path}`);
        else if (kind === "symlink") link(at, target ?? "");
        else {
          mkdirSync(dirname(at), { recursive: true });
          execFileSync("mkfifo", [at]);
        }
      }
      {
        await using h = await fileFixture({ files: { openat2, roots: { root: { path: root } } } });
        await h.call("list_files", { path: "root" });
        const open = descriptors();
        let found = 0;
        for (const row of resolveCases) {
          const outcome = await h.call("stat_file", { path: `root/${row.path}` });
          const read = await h.call("read_file", { path: `root/${row.path}` });
          if (outcome.status !== "ok") continue;
          const stat = outcome.structured as { readonly type: string; readonly path: string }; // as stat_file answers
          if (stat.type === "link") {
            expect([row.id, read.status]).toEqual([row.id, "error"]);
            continue;
          }
          found += 1;
          expect([row.id, row.chroot_semantics]).toEqual([row.id, "Ok"]);
          expect([row.id, `/${stat.path.slice("root/".length)}`]).toEqual([row.id, join("/", row.result)]);
          if (read.status === "ok") expect(read.text).toBe(join("/", row.result));
        }
        expect(found).toBeGreaterThan(5);
        expect(descriptors()).toBe(open);
      }
      rmSync(base, { recursive: true });
    },
  );
});

it.skipIf(pathCases.length === 0)(
  "finds what is inside and nothing outside for the lexical table of MCP's file server",
  async () => {
    let checked = 0;
    for (const row of pathCases) {
      const base = realpathSync(mkdtempSync(join(tmpdir(), "postern-lexical-")));
      const allowed = row.allowed.filter(
        (path): path is string => typeof path === "string" && path !== "" && !path.includes("\0"),
      );
      const inside = allowed.map((path) => posix.normalize(path));
      for (const path of inside) mkdirSync(join(base, path), { recursive: true });
      const short = Buffer.byteLength(row.path) < 1_000 && !row.path.includes("\0");
      const real = posix.normalize(row.path).replace(/\/+$/, "");
      if (short && !inside.some((path) => path.replace(/\/+$/, "") === real || path.startsWith(`${real}/`)))
        put(join(base, real), "there");
      const roots = Object.fromEntries(inside.map((path, i) => [`r${i}`, { path: join(base, path) }]));
      {
        await using h = await fileFixture({ files: { roots } });
        const tries = inside.map((path, i) => {
          const plain = path.replace(/\/+$/, "");
          return row.path.startsWith(plain)
            ? `r${i}${row.path.slice(plain.length)}`
            : `r${i}/${posix.relative(path, row.path)}`;
        });
        const outcomes = await Promise.all([...tries, row.path].map((path) => h.call("stat_file", { path })));
        const found = outcomes.some(
          ({ status, structured }) => status === "ok" && !JSON.stringify(structured).includes("workspace"),
        );
        if (short || !row.expect) {
          checked += 1;
          expect([row.path, row.allowed, found]).toEqual([row.path, row.allowed, row.expect]);
        }
      }
      rmSync(base, { recursive: true });
    }
    expect(checked).toBeGreaterThanOrEqual(58);
  },
);

it("refuses an invalid root and says why", async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "postern-roots-")));
  mkdirSync(join(base, "data/inner"), { recursive: true });
  put(join(base, "project/postern.yaml"), "version: 1");
  link(join(base, "sly"), join(base, "data"));
  const refused = async (name: string, root: { path: string; writable?: boolean }): Promise<string> => {
    const files = {
      roots: { [name]: root },
      outOfReach: [join(base, "data")],
      notWritable: [join(base, "project/postern.yaml")],
    };
    return fileFixture({ files }).then(
      async (h) => {
        await h[Symbol.asyncDispose]();
        return "taken";
      },
      (error: Error) => error.message,
    );
  };
  expect(await refused("all", { path: base })).toContain("Postern's own data");
  expect(await refused("in", { path: join(base, "data/inner") })).toContain("Postern's own data");
  expect(await refused("sly", { path: join(base, "sly") })).toContain("Postern's own data");
  expect(await refused("proc", { path: "/proc/self" })).toContain("shows this process itself");
  expect(await refused("none", { path: join(base, "none") })).toContain("name a folder that exists");
  expect(await refused("file", { path: join(base, "project/postern.yaml") })).toContain("which is no folder");
  expect(await refused("project", { path: join(base, "project"), writable: true })).toContain(
    "which Postern itself reads",
  );
  expect(await refused("project", { path: join(base, "project") })).toBe("taken");
  for (const name of ["workspace", "logs", "../x", "", "a/b"])
    expect(await refused(name, { path: join(base, "project") })).toContain("not a name for a root");
  expect(readFileSync(join(base, "project/postern.yaml"), "utf8")).toBe("version: 1");
  rmSync(base, { recursive: true });
});

it("does not enter a root whose folder was replaced", async () => {
  await using h = await fileFixture({
    files: (base) => {
      put(join(base, "docs/a.md"), "old");
      put(join(base, "other/a.md"), "other");
      return { roots: { docs: { path: join(base, "docs") } } };
    },
  });
  rmSync(join(h.base, "docs"), { recursive: true });
  symlinkSync(join(h.base, "other"), join(h.base, "docs"));
  expect((await h.call("read_file", { path: "docs/a.md" })).status).toBe("error");
  rmSync(join(h.base, "docs"));
  renameSync(join(h.base, "other"), join(h.base, "docs"));
  const outcome = await h.call("list_files", { path: "docs" });
  expect(outcome.structured).toMatchObject({ rejected: "root_replaced" });
});

it("takes a path without a root from the workspace, or from the only root", async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "postern-home-")));
  put(join(base, "one/f"), "one");
  put(join(base, "two/f"), "two");
  const text = async (files: FileToolOptions): Promise<string> => {
    await using h = await fileFixture({ files });
    return (await h.call("read_file", { path: "f" })).text;
  };
  const [one, two] = [{ path: join(base, "one") }, { path: join(base, "two") }];
  expect(await text({ roots: { one } })).toContain("does not exist");
  expect(await text({ runs: undefined, roots: { one } })).toBe("one");
  expect(await text({ runs: undefined, roots: { one, two } })).toContain("`one/`, `two/`");
  rmSync(base, { recursive: true });
});
