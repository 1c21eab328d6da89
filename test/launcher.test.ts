import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";

const launcher = join(import.meta.dirname, "../packages/postern/bin/postern.js");

const folder = mkdtempSync(join(tmpdir(), "launcher-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs them on this Node, which says that it is another one. */
function launchedOn(version: string, ...words: readonly string[]) {
  const versions = `{ ...process.versions, node: ${JSON.stringify(version)} }`;
  const pretend = `Object.defineProperty(process, "versions", { value: ${versions} })`;
  const preload = `data:text/javascript,${encodeURIComponent(pretend)}`;
  return spawnSync(process.execPath, ["--import", preload, ...words], {
    encoding: "utf8",
  });
}

it.each(["12.22.12", "20.20.2", "23.11.1"])("says on Node %s in one sentence what it needs", (old) => {
  const { status, stdout, stderr } = launchedOn(old, launcher, "--version");
  expect(status).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toBe(
    `Postern needs Node 24 or newer, and this is Node ${old}: get it from https://nodejs.org/en/download or with \`nvm install 24\`.\n`,
  );
});

it("an import of the package on Node 20 says the same, before any of it runs", () => {
  const entry = join(import.meta.dirname, "../packages/postern/src/index.ts");
  const output = `await import(${JSON.stringify(entry)}).catch(({ code, message }) => console.log(code, message))`;
  const { stdout } = launchedOn("20.20.2", "--input-type=module", "--eval", output);
  expect(stdout).toBe(
    "node_too_old Postern needs Node 24 or newer, and this is Node 20.20.2: get it from https://nodejs.org/en/download or with `nvm install 24`.\n",
  );
});

it("uses only syntax that Node 12 can read", () => {
  const source = readFileSync(launcher, "utf8");
  expect(source).not.toMatch(/\?\.|\?\?|\bawait\b|"node:|#[a-z]\w*[ (;=]|\blet\b|\bconst\b/);
});

function launchedWithCacheIn(path: string) {
  // The test runner switches the cache off while it counts what is covered.
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: undefined,
    NODE_DISABLE_COMPILE_CACHE: undefined,
    XDG_CACHE_HOME: path,
  };
  return spawnSync(process.execPath, [launcher, "--version"], { encoding: "utf8", env });
}

it("keeps compiled modules in the cache folder of the user", () => {
  expect(launchedWithCacheIn(folder)).toMatchObject({ status: 0, stderr: "" });
  expect(readdirSync(folder)).toEqual(["postern"]);
});

it("runs without them when the cache folder cannot be written", () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  expect(launchedWithCacheIn(file)).toMatchObject({ status: 0, stderr: "" });
});
