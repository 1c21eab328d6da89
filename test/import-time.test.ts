import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);
let built: string;

/** As the package is published: stripping the types of a hundred files would be most of the time. */
beforeAll(async () => {
  await mkdir(join(root, "temp"), { recursive: true });
  built = await mkdtemp(join(root, "temp", "import-time-"));
  const compiler = join(root, "node_modules", ".bin", "tsc");
  await run(compiler, ["-p", "tsconfig.build.json", "--noCheck", "--outDir", built], { cwd: root });
}, 60_000);

afterAll(() => rm(built, { recursive: true }));

/** Imports the entry in a process of its own; says how long that took and which packages it loaded. */
const script = `
  import { registerHooks } from "node:module";
  import { pathToFileURL } from "node:url";
  const packages = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1];
      if (name !== undefined) packages.add(name);
      return found;
    },
  });
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  await import(pathToFileURL(process.argv[1]));
  const tookMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  const ownMs = (user + system) / 1000;
  console.log(JSON.stringify({ tookMs: Math.min(tookMs, ownMs), packages: [...packages].sort() }));
`;

interface Import {
  /** The shorter of wall clock and processor time: other tests running beside this one do not count. */
  readonly tookMs: number;
  readonly packages: readonly string[];
}

async function importEntry(): Promise<Import> {
  const options = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval"];
  const entry = join(built, "index.js");
  const { stdout } = await run(process.execPath, [...options, script, entry]);
  return JSON.parse(stdout) as Import; // what the script above printed
}

it("loads the root entry within 100 ms and no package with it", async () => {
  const imports: Import[] = [];
  for (let n = 0; n < 5; n += 1) imports.push(await importEntry());
  const [, , median] = imports.toSorted((one, other) => one.tookMs - other.tookMs);
  expect(median?.packages).toEqual([]);
  expect(median?.tookMs).toBeLessThanOrEqual(100);
}, 60_000);
