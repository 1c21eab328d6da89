import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { copySandboxSources } from "../scripts/bundle-children.ts";
import { entries } from "./fakes/entries.ts";

const root = join(import.meta.dirname, "..");
const library = join(root, "packages/postern");
const manifest = JSON.parse(readFileSync(join(library, "package.json"), "utf8")) as {
  readonly files: readonly string[];
}; // our own
/** npm adds it by itself. */
const shipped = [...manifest.files, "README.md"];

it("every link of the README leads to a file in the package", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const links = [...readme.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].flatMap(([, link]) => link ?? []);
  const own = links.filter((link) => !link.includes("://"));
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter((link) => !existsSync(join(root, link)))).toEqual([]);
  expect(own.filter((link) => !shipped.some((path) => link === path || link.startsWith(`${path}/`)))).toEqual([]);
});

it("exports at most 60 names from the root entry", () => {
  const source = readFileSync(join(root, "packages/postern/src/index.ts"), "utf8");
  const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, list = ""]) => list);
  const names = lists.flatMap((list) => list.split(",")).filter((name) => name.trim() !== "");
  expect(names.length).toBeGreaterThan(40);
  expect(names.length).toBeLessThanOrEqual(60);
  expect(source.match(/^export /gm)).toHaveLength(lists.length);
});

it("has one entry file for each subpath", () => {
  const sources = entries.map(({ source }) => source);
  expect(sources.filter((source) => !existsSync(source))).toEqual([]);
  const files = globSync("packages/*/src/**/index.ts", { cwd: root }).map((path) => join(root, path));
  expect(files.filter((path) => !sources.includes(path))).toEqual([]);
});

const entryModules = `
  import { registerHooks } from "node:module";
  const seen = new Set();
  registerHooks({ resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    seen.add(found.url);
    return found;
  } });
  await import(${JSON.stringify(join(root, "packages/postern/src/index.ts"))});
  console.log(JSON.stringify([...seen]));
`;

/** Milliseconds differ from machine to machine (import-time.test.ts); how much is read does not. */
it("the entry loads at most 50 files of Postern: the first call loads what only calls need", () => {
  const options = ["--conditions=postern-source", "--input-type=module", "--eval"];
  const out = execFileSync(process.execPath, [...options, entryModules], { encoding: "utf8" });
  const loaded = JSON.parse(out) as readonly string[]; // what the script above printed
  const ours = loaded.filter((url) => url.includes("/src/"));
  expect(ours.length).toBeGreaterThan(10);
  expect(ours.length).toBeLessThanOrEqual(50);
  for (const late of [
    "files/changes.ts",
    "files/reads.ts",
    "secrets/sealed-file.ts",
    "packages/postern/src/runtime/runtime.ts",
    "packages/postern/src/runtime/options/options.ts",
  ])
    expect(ours.filter((url) => url.endsWith(late))).toEqual([]);
});

it("the build copies every file that runs inside a sandbox", () => {
  const to = mkdtempSync(join(tmpdir(), "postern-built-"));
  try {
    copySandboxSources(to);
    const sources = globSync("**/prelude/*.{py,js}", { cwd: join(root, "packages/engines/src") });
    expect(sources.length).toBeGreaterThan(10);
    expect(globSync("**/*.{py,js}", { cwd: to }).sort()).toEqual(sources.sort());
  } finally {
    rmSync(to, { recursive: true, force: true });
  }
});
