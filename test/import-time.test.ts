import { execFile, spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);
/** Those that the entry may load. */
const packages = { core: "@postern/core", postern: "postern" } as const;
let built: string;

const yardstickFiles = 160;
/** On the developers' machine (two cores) with nothing else on it. */
const quietYardstickMs = 40;

/** As the package is published: stripping the types of a hundred files would be most of the time. */
beforeAll(async () => {
  await mkdir(join(root, "temp"), { recursive: true });
  built = await mkdtemp(join(root, "temp", "import-time-"));
  for (const [folder, name] of Object.entries(packages)) {
    const [from, to] = [join(root, "packages", folder), join(built, "node_modules", name)];
    await mkdir(to, { recursive: true });
    await copyFile(join(from, "package.json"), join(to, "package.json"));
    const compiler = join(root, "node_modules", ".bin", "tsc");
    await run(compiler, ["-p", "tsconfig.build.json", "--noCheck", "--outDir", join(to, "dist")], { cwd: from });
  }
  await writeYardstick(join(built, "yardstick"));
});

afterAll(() => rm(built, { recursive: true }));

/** Imports both in a process of its own; says how long each took, and which packages the entry loaded. */
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
  // The shorter of wall clock and processor time: other tests running beside this one do not count.
  const timed = async (file) => {
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    await import(pathToFileURL(file));
    const { user, system } = process.cpuUsage(cpu);
    return Math.min(performance.now() - startedAt, (user + system) / 1000);
  };
  const [, entry, yardstick] = process.argv;
  const tookMs = await timed(entry);
  console.log(JSON.stringify({ tookMs, yardstickMs: await timed(yardstick), packages: [...packages].sort() }));
`;

interface Import {
  readonly tookMs: number;
  readonly yardstickMs: number;
  readonly packages: readonly string[];
}

const entry = (): string => join(built, "node_modules/postern/dist/index.js");

async function importEntry(): Promise<Import> {
  const options = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval"];
  const { stdout } = await run(process.execPath, [...options, script, entry(), join(built, "yardstick/index.js")], {
    env: { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_OPTIONS: undefined },
  }); // whoever imports it first has nothing compiled
  return JSON.parse(stdout) as Import; // what the script above printed
}

/** Modules without content of their own. They show how fast this machine imports now. */
async function writeYardstick(folder: string): Promise<void> {
  await mkdir(folder);
  const lines = Array.from(
    { length: 40 },
    (_, n) => `export const f${n} = (one, two) => ({ one, two, sum: one + ${n} });`,
  );
  const files = Array.from({ length: yardstickFiles }, (_, n) => `${n}.js`);
  for (const file of files) await writeFile(join(folder, file), lines.join("\n"));
  await writeFile(join(folder, "index.js"), files.map((file) => `import "./${file}";`).join("\n"));
}

/** What is promised for a quiet machine. A busy or a slower one is measured against itself: the bar is never lowered. */
function barMs({ yardstickMs }: Import): number {
  return 100 * Math.max(1, yardstickMs / quietYardstickMs);
}

it("loads the root entry within 100 ms, and of packages only our core with it", async () => {
  const imports: Import[] = [];
  const isInTime = (one: Import): boolean => one.tookMs <= barMs(one);
  while (imports.length < 8 && !imports.some(isInTime)) imports.push(await importEntry());
  expect([...new Set(imports.flatMap(({ packages: loaded }) => loaded))].sort()).toEqual(["@postern/core", "postern"]);
  expect(imports.some(isInTime), JSON.stringify(imports)).toBe(true);
});

/** One that is older than ours, where the machine has it. */
const oldNode = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .find((node) => /^v(?:20|22|23)\./.test(spawnSync(node, ["--version"], { encoding: "utf8" }).stdout ?? ""));

it.skipIf(oldNode === undefined)("an old Node that imports the entry names the Node that Postern needs", async () => {
  const output = `import(${JSON.stringify(entry())}).catch(({ code }) => console.log(code))`;
  const { stdout } = await run(oldNode ?? "", ["--input-type=module", "--eval", output], {
    env: { ...process.env, NODE_OPTIONS: undefined },
  });
  expect(stdout).toBe("node_too_old\n");
});
