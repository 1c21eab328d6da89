/** What a command of a client, and the entry of an adapter, load: each module that is loaded is waited for at each start. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const launcher = join(root, "packages/postern/bin/postern.js");
const run = promisify(execFile);

/** Writes the addresses of all modules at the end, a line each. */
const counter = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  import { writeFileSync } from "node:fs";
  const urls = [];
  registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
  process.on("exit", () => writeFileSync(process.env.LOADED, urls.join("\\n")));
`)}`;

/** Answers each request with the outcome of a call. */
const server = createServer((_, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ call_id: "call_1", status: "ok", text: "Noon.", notes: [] }));
});
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "loaded-"));
  for (const role of ["agent", "operator"]) await writeFile(join(folder, `${role}.token`), "t".repeat(43));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

interface Loaded {
  readonly printed: string;
  readonly count: number;
  /** Other packages, and the folders of `postern`. */
  readonly parts: readonly string[];
}

async function loadedBy(...words: readonly string[]): Promise<Loaded> {
  const list = join(folder, "loaded");
  const env = { ...process.env, LOADED: list };
  const { stdout: printed } = await run(process.execPath, ["--import", counter, ...words], { cwd: root, env });
  const urls = (await readFile(list, "utf8")).split("\n").filter((url) => url.startsWith("file:"));
  const parts = new Set(urls.map((url) => /\/postern\/src\/(\w[\w-]*)\//.exec(url)?.[1] ?? packageOf(url)));
  return { printed, count: urls.length, parts: [...parts].sort() };
}

/** The name in `node_modules`, or the folder in `packages`. */
function packageOf(url: string): string {
  const [, installed, own = ""] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)|\/packages\/([^/]+)/.exec(url) ?? [];
  return installed ?? own;
}

it("`postern call` loads a client, the contract and nothing of a server", async () => {
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const { printed, count, parts } = await loadedBy(
    ...[launcher, "call", "clock", "--data", folder, "--port", String(port)],
  );
  expect(printed).toBe("Noon.\n");
  expect(parts).toEqual(["cli", "code-mode", "commander", "config", "core", "postern", "server", "system", "zod"]);
  expect(count).toBeLessThan(215);
});

it("`postern --version` loads no contract and no schema", async () => {
  const { count, parts } = await loadedBy(launcher, "--version");
  expect(parts).toEqual(["cli", "commander", "config", "core", "postern", "server"]);
  expect(count).toBeLessThan(75);
});

it("the entry of an adapter loads no runtime and no other package", async () => {
  const entry = 'import "@postern/agents/ai-sdk"';
  const { count, parts } = await loadedBy("--input-type=module", "--eval", entry);
  expect(parts).toEqual(["agents", "core", "policy", "results", "tools"]);
  expect(count).toBeLessThan(75);
});
