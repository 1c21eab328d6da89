import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

/** Lowest first. A package imports packages before it, and only what they export. */
const packages: readonly string[] = ["core", "engines", "postern", "agents"];

/**
 * The folders of `postern`, lowest first. A file knows its own folder and the layers before it; a folder of its own layer
 * only through its port file.
 */
const layers: readonly (readonly string[])[] = [
  ["system", "call", "checks"],
  ["store", "mcp/protocol"],
  ["secrets", "audit", "identity"],
  ["policy", "results"],
  ["tools", "approvals"],
  ["pipeline"],
  ["workers"],
  ["backup"],
  ["observe"],
  ["connections"],
  ["builtin", "mcp/client"],
  ["code-mode", "openapi"],
  ["runtime"],
  ["server", "mcp/server"],
  ["config"],
  ["cli"],
  ["index.ts"],
  ["testing"],
];
const ports: ReadonlyMap<string, string> = new Map([
  ["store", "store/store.ts"],
  ["secrets", "secrets/secret-store.ts"],
  ["audit", "audit/log.ts"],
  ["policy", "policy/policy.ts"],
  ["results", "results/artifact-store.ts"],
  ["tools", "tools/tool.ts"],
  ["approvals", "approvals/repository.ts"],
  ["mcp/client", "mcp/client/upstream.ts"],
]);
/** Only the gate itself may say that a call has passed it. */
const makers: ReadonlyMap<string, string> = new Map([
  ["CountedCall", "packages/postern/src/pipeline/gates/budget.ts"],
  ["FoundCall", "packages/postern/src/pipeline/gates/lookup.ts"],
  ["ValidCall", "packages/postern/src/pipeline/gates/arguments.ts"],
  ["WeighedCall", "packages/postern/src/pipeline/gates/verdict.ts"],
  ["FreshCall", "packages/postern/src/pipeline/gates/once.ts"],
  ["ApprovedCall", "packages/postern/src/pipeline/gates/approval.ts"],
  ["ClaimedCall", "packages/postern/src/pipeline/gates/claim.ts"],
]);

const root = join(import.meta.dirname, "..");
const files = globSync("{packages/*,console}/src/**/*.{ts,tsx}", { cwd: root }).sort();
const sources = files.filter((path) => !/\.test(-d)?\.ts$/.test(path));
const library = "packages/postern/src/";

/** The only file of `postern` that names a higher package: it loads it when it is installed. */
const agentsImport = { file: `${library}cli/agents-package.ts`, specifier: "@postern/agents/command" } as const;

/** `core`, `engines`, `postern`, `agents`; `console`. */
function packageOf(path: string): string {
  const [first = "", second = ""] = path.split("/");
  return first === "packages" ? second : first;
}

/** The layer a file of `postern` counts to: its folder. The entry of a subpath (`policy/index.ts`) counts to its folder too. */
function folderOf(path: string): string {
  const [first = "", second = ""] = path.slice(library.length).split("/");
  return first === "mcp" ? `mcp/${second}` : first;
}

function rank(folder: string): number {
  return layers.findIndex((layer) => layer.includes(folder));
}

function textOf(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** Static, dynamic and type imports, re-exports, and what is started as a worker by its URL. */
function specifiersOf(file: string): readonly string[] {
  const specifier = /(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*["'`]([^"'`]+)["'`]/g;
  return [...textOf(file).matchAll(specifier)].map(([, path = ""]) => path);
}

/** The files that a file names by a relative path. */
function importsOf(file: string): readonly string[] {
  return specifiersOf(file)
    .filter((path) => path.startsWith("."))
    .map((path) => join(dirname(file), path))
    .filter((target) => /^(?:packages|console)\//.test(target));
}

interface Edge {
  readonly file: string;
  readonly target: string;
  readonly from: string;
  readonly to: string;
}

const edges: readonly Edge[] = sources
  .filter((file) => file.startsWith(library))
  .flatMap((file) =>
    importsOf(file)
      .filter((target) => target.startsWith(library))
      .map((target) => ({ file, target, from: folderOf(file), to: folderOf(target) }))
      .filter(({ from, to }) => from !== to),
  );

function violation({ file, target, from, to }: Edge): string | undefined {
  if (rank(to) < 0) return `${file} -> ${target} (no layer)`;
  if (rank(to) > rank(from)) return `${file} -> ${target} (upwards)`;
  if (rank(to) === rank(from) && target !== `${library}${ports.get(to)}`) return `${file} -> ${target} (no port)`;
  return undefined;
}

/** The names that reach themselves, directly or through others. */
function cycles(targetsOf: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const reaches = (start: string): boolean => {
    const found = new Set<string>();
    const open = [start];
    for (let at = open.pop(); at !== undefined; at = open.pop())
      for (const target of targetsOf.get(at) ?? []) {
        if (target === start) return true;
        if (!found.has(target)) open.push(target);
        found.add(target);
      }
    return false;
  };
  return [...targetsOf.keys()].filter(reaches);
}

it("reads the sources", () => {
  expect(sources.length).toBeGreaterThan(50);
  expect(sources.flatMap(importsOf).length).toBeGreaterThan(200);
});

it("a package imports lower packages only, and only by their names", () => {
  const wrong = sources.flatMap((file) => {
    const own = packageOf(file);
    const outside = importsOf(file).filter((target) => /\/src\//.test(target) && packageOf(target) !== own);
    const higher = specifiersOf(file).filter((specifier) => {
      const [, scoped, plain] = /^(?:@postern\/(\w+)|(postern))(?:\/|$)/.exec(specifier) ?? [];
      const target = scoped ?? plain;
      if (target === undefined || target === own) return false;
      return own === "console" ? target !== "core" : packages.indexOf(target) >= packages.indexOf(own);
    });
    return [...outside, ...higher].map((target) => `${file} -> ${target}`);
  });
  expect(wrong).toEqual([]);
});

it("every file of postern has a layer", () => {
  const own = sources.filter((file) => file.startsWith(library));
  expect(own.filter((file) => rank(folderOf(file)) < 0)).toEqual([]);
});

it("imports only point downwards, and between neighbours only at ports", () => {
  const found = edges.map(violation);
  expect(found.filter((line) => line !== undefined)).toEqual([]);
});

it("one file of postern loads the agents package, by a dynamic import without a type", () => {
  const named = sources.filter((file) => packageOf(file) === "postern" && textOf(file).includes("@postern/agents"));
  const loaders = named.filter((file) => textOf(file).includes(agentsImport.specifier));
  expect(loaders).toEqual([agentsImport.file]);
  expect(textOf(agentsImport.file)).not.toMatch(/typeof import/);
});

it("the core and the contract run in a browser: nothing that they load is Node's", () => {
  const open = ["index.ts", "contract/index.ts"].map((path) => `packages/core/src/${path}`);
  const loaded = new Set(open);
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const target of importsOf(at).filter((path) => !loaded.has(path))) {
      loaded.add(target);
      open.push(target);
    }
  expect(loaded.size).toBeGreaterThan(30);
  const node = /"node:|\bBuffer\b|\bprocess\./;
  expect([...loaded].filter((file) => node.test(textOf(file).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")))).toEqual([]);
});

it("no folder imports itself through others", () => {
  const targets = Map.groupBy(edges, ({ from }) => from);
  expect(cycles(new Map([...targets].map(([from, found]) => [from, found.map(({ to }) => to)])))).toEqual([]);
});

it("no file imports itself through others, type imports included", () => {
  const found = cycles(new Map(sources.map((file) => [file, importsOf(file)])));
  expect(found).toEqual([]);
});

/** In the order in which a call passes them. */
const gates: readonly string[] = "budget run lookup arguments guardrails verdict once approval claim".split(" ");

it("a gate imports no later gate", () => {
  const gateOf = (file: string): number =>
    gates.indexOf(file.replace("packages/postern/src/pipeline/gates/", "").replace(".ts", ""));
  const later = sources
    .filter((file) => gateOf(file) >= 0)
    .flatMap((file) => importsOf(file).map((target) => ({ file, target })))
    .filter(({ file, target }) => gateOf(target) > gateOf(file));
  expect(later).toEqual([]);
});

it("a stage is made only by its own gate", () => {
  const casts = files.flatMap((file) =>
    [...textOf(file).matchAll(/\bas\s+(?:Open<)?(\w+Call)\b/g)]
      .filter(([, stage = ""]) => makers.has(stage) && makers.get(stage) !== file)
      .map(([, stage]) => `${stage} in ${file}`),
  );
  expect(casts).toEqual([]);
});
