import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

/** Lowest first. A file knows its own folder and the layers before it; a folder of its own layer only through its port file. */
const layers: readonly (readonly string[])[] = [
  ["core"],
  ["system", "call", "checks"],
  ["store", "mcp/protocol"],
  ["secrets", "audit", "identity"],
  ["policy", "results"],
  ["tools", "approvals"],
  ["pipeline"],
  ["observe"],
  ["engines", "builtin", "mcp/client"],
  ["code-mode"],
  ["runtime"],
  ["server", "mcp/server"],
  ["config"],
  ["cli"],
  ["index.ts"],
  ["agents"],
];
const ports: ReadonlyMap<string, string> = new Map([
  ["store", "store/store.ts"],
  ["secrets", "secrets/secret-store.ts"],
  ["audit", "audit/log.ts"],
  ["identity", "identity/roles.ts"],
  ["policy", "policy/policy.ts"],
  ["results", "results/artifact-store.ts"],
  ["tools", "tools/tool.ts"],
  ["approvals", "approvals/repository.ts"],
  ["engines", "engines/sandbox.ts"],
  ["mcp/client", "mcp/client/upstream.ts"],
]);
/** Only the gate itself may say that a call has passed it. */
const makers: ReadonlyMap<string, string> = new Map([
  ["CountedCall", "src/pipeline/gates/budget.ts"],
  ["FoundCall", "src/pipeline/gates/lookup.ts"],
  ["ValidCall", "src/pipeline/gates/arguments.ts"],
  ["WeighedCall", "src/pipeline/gates/verdict.ts"],
  ["FreshCall", "src/pipeline/gates/once.ts"],
  ["ApprovedCall", "src/pipeline/gates/approval.ts"],
  ["ClaimedCall", "src/pipeline/gates/claim.ts"],
]);

const files = globSync("src/**/*.ts");
const sources = files.filter((path) => !/\.test(-d)?\.ts$/.test(path));

/** The only file of postern that loads the agents package, and the only file of that package that it loads. */
const agentsImport = { file: "src/cli/agents-package.ts", target: "src/agents/command.ts" } as const;
/** What the agents package may import of postern: what a stranger can import too. */
const publicEntry = /^src\/(?:(?:[a-z-]+\/)?index|mcp\/client\/connect-mcp)\.ts$/;
const belowPostern = /^src\/(?:core|server\/contract)\//;

/** The files that will be the agents package. */
function isOfAgents(path: string): boolean {
  return path.startsWith("src/agents/") || path.startsWith("src/builtin/provided/");
}

/** The layer a file counts to: its folder. The entry of a subpath (`policy/index.ts`) counts to its folder too. */
function folderOf(path: string): string {
  if (isOfAgents(path)) return "agents";
  const [, first = "", second = ""] = path.split("/");
  return first === "mcp" ? `mcp/${second}` : first;
}

function rank(folder: string): number {
  return layers.findIndex((layer) => layer.includes(folder));
}

/** Static, dynamic and type imports, re-exports, and what is started as a worker by its URL. */
function importsOf(file: string): readonly string[] {
  const specifier = /(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*["'`](\.[^"'`]+)["'`]/g;
  return [...readFileSync(file, "utf8").matchAll(specifier)]
    .map(([, path = ""]) => join(dirname(file), path))
    .filter((target) => target.startsWith("src/"));
}

interface Edge {
  readonly file: string;
  readonly target: string;
  readonly from: string;
  readonly to: string;
}

const edges: readonly Edge[] = sources.flatMap((file) =>
  importsOf(file)
    .map((target) => ({ file, target, from: folderOf(file), to: folderOf(target) }))
    .filter(({ from, to }) => from !== to)
    .filter(({ target }) => !target.startsWith("src/server/contract/")) // shapes: below everything
    .filter((edge) => edge.file !== agentsImport.file || edge.target !== agentsImport.target),
);

function violation({ file, target, from, to }: Edge): string | undefined {
  if (rank(to) < 0) return `${file} -> ${target} (no layer)`;
  if (rank(to) > rank(from)) return `${file} -> ${target} (upwards)`;
  if (rank(to) === rank(from) && target !== `src/${ports.get(to)}`) return `${file} -> ${target} (no port)`;
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

it("every file has a layer", () => {
  expect(sources.filter((file) => rank(folderOf(file)) < 0)).toEqual([]);
});

it("imports only point downwards, and between neighbours only at ports", () => {
  const found = edges.map(violation);
  expect(found.filter((line) => line !== undefined)).toEqual([]);
});

it("agents import only public entries of postern, and core", () => {
  const wrong = sources
    .filter(isOfAgents)
    .flatMap((file) => importsOf(file).map((target) => ({ file, target })))
    .filter(({ target }) => !isOfAgents(target) && !publicEntry.test(target) && !belowPostern.test(target));
  expect(wrong).toEqual([]);
});

it("one file of postern loads agents, by a dynamic import without a type", () => {
  const loaders = sources
    .filter((file) => !isOfAgents(file))
    .flatMap((file) => importsOf(file).map((target) => ({ file, target })))
    .filter(({ target }) => isOfAgents(target));
  expect(loaders).toEqual([agentsImport]);
  const text = readFileSync(agentsImport.file, "utf8");
  expect(text.match(/agents\/command/g)).toHaveLength(1);
  expect(text).toContain('import("../agents/command.ts")');
});

it("no folder imports itself through others", () => {
  const targets = Map.groupBy(edges, ({ from }) => from);
  expect(cycles(new Map([...targets].map(([from, found]) => [from, found.map(({ to }) => to)])))).toEqual([]);
});

/** The actions of a browser and the table that reads them define each other. */
const knownCycles: readonly string[] = ["src/agents/browser/actions.ts", "src/agents/browser/table.ts"];

it("no file imports itself through others, type imports included", () => {
  const found = cycles(new Map(sources.map((file) => [file, importsOf(file)])));
  expect(found.filter((file) => !knownCycles.includes(file))).toEqual([]);
});

/** In the order in which a call passes them. */
const gates: readonly string[] = "budget run lookup arguments guardrails verdict once approval claim".split(" ");

it("a gate imports no later gate", () => {
  const gateOf = (file: string): number => gates.indexOf(file.replace("src/pipeline/gates/", "").replace(".ts", ""));
  const later = sources
    .filter((file) => gateOf(file) >= 0)
    .flatMap((file) => importsOf(file).map((target) => ({ file, target })))
    .filter(({ file, target }) => gateOf(target) > gateOf(file));
  expect(later).toEqual([]);
});

it("a stage is made only by its own gate", () => {
  const casts = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/\bas\s+(?:Open<)?(\w+Call)\b/g)]
      .filter(([, stage = ""]) => makers.has(stage) && makers.get(stage) !== file)
      .map(([, stage]) => `${stage} in ${file}`),
  );
  expect(casts).toEqual([]);
});
