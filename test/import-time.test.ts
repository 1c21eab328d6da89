import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const entry = join(import.meta.dirname, "../src/index.ts");
const run = promisify(execFile);

/** Imports the entry in a process of its own; says how long that took and which packages it loaded. */
const script = `
  import { registerHooks } from "node:module";
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
  await import(process.argv[1]);
  const tookMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ tookMs: Math.min(tookMs, (user + system) / 1000), packages: [...packages].sort() }));
`;

interface Import {
  /** The shorter of wall clock and processor time: other tests running beside this one do not count. */
  readonly tookMs: number;
  readonly packages: readonly string[];
}

async function importEntry(): Promise<Import> {
  const options = ["--disable-warning=ExperimentalWarning", "--input-type=module"];
  const { stdout } = await run(process.execPath, [...options, "--eval", script, entry]);
  return JSON.parse(stdout) as Import; // what the script above printed
}

it("loads the root entry within 100 ms and none of the heavy packages", async () => {
  const imports: Import[] = [];
  for (let n = 0; n < 5; n += 1) imports.push(await importEntry());
  const [, , median] = imports.toSorted((one, other) => one.tookMs - other.tookMs);
  expect(median?.packages).toEqual([]);
  expect(median?.tookMs).toBeLessThanOrEqual(100);
}, 60_000);
