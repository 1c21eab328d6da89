import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

/** Lowest first. A file knows its own layer and the ones before it; a neighbour only through its port file. */
const layers: readonly (readonly string[])[] = [
  ["calls"],
  ["system"],
  ["stores"],
  ["policy", "secrets", "results", "audit", "watchers"],
  ["tools", "approvals", "ledger", "accounts", "alarms"],
  ["channels"],
  ["gates"],
  ["executors"],
  ["parts.ts"],
  ["invoke.ts"],
  ["resume.ts", "explain.ts"],
  ["policy-face.ts"],
  ["face.ts"],
  ["chains", "fleet"],
  ["agents"],
  ["doors"],
  ["config"],
  ["runtime"],
  ["runtime.ts"],
  ["create.ts"],
  ["wiring.ts"],
  ["command-host.ts"],
  ["main.ts", "index.ts"],
];

/** Its own folder, or for the entry of a subpath (`policy/index.ts`) the layer of the root entry: no source may import it. */
function layerOf(path: string): string {
  return path.endsWith("/index.ts") ? "index.ts" : (path.split("/")[1] ?? "");
}

const ports: ReadonlyMap<string, string> = new Map([
  ["policy", "policy.ts"],
  ["stores", "store.ts"],
  ["secrets", "secret-store.ts"],
  ["results", "artifact-store.ts"],
  ["audit", "log.ts"],
  ["watchers", "watcher.ts"],
  ["tools", "tool.ts"],
  ["approvals", "repository.ts"],
  ["ledger", "ledger.ts"],
  ["accounts", "roles.ts"],
  ["alarms", "alarms.ts"],
  ["chains", "sandbox.ts"],
  ["fleet", "order.ts"],
]);
/** Who may say that a call has passed: the gate itself, and the fleet for the one stage that travels. */
const makers: ReadonlyMap<string, readonly string[]> = new Map([
  ["CountedCall", ["src/gates/budget.ts"]],
  ["FoundCall", ["src/gates/lookup.ts"]],
  ["ValidCall", ["src/gates/arguments.ts"]],
  ["WeighedCall", ["src/gates/verdict.ts"]],
  ["FreshCall", ["src/gates/once.ts"]],
  ["ApprovedCall", ["src/gates/approval.ts", "src/fleet/order.ts"]],
  ["ClaimedCall", ["src/gates/claim.ts"]],
]);

const files = globSync("src/**/*.ts");
const sources = files.filter((path) => !/\.test(-d)?\.ts$/.test(path));

function rank(folder: string): number {
  return layers.findIndex((layer) => layer.includes(folder));
}

/** Static and dynamic imports, re-exports, and what is started as a worker by its URL. */
function importsOf(file: string): readonly string[] {
  const specifier = /(?:\bfrom|\bimport|\bnew URL)\s*\(?\s*["'`](\.[^"'`]+)["'`]/g;
  return [...readFileSync(file, "utf8").matchAll(specifier)]
    .map(([, path = ""]) => join(dirname(file), path))
    .filter((target) => target.startsWith("src/"));
}

function violation(file: string, target: string): string | undefined {
  const from = layerOf(file);
  const to = layerOf(target);
  const second = target.split("/")[2];
  if (to === from) return undefined;
  if (rank(to) < 0) return `${file} -> ${target} (no layer)`;
  if (rank(to) > rank(from)) return `${file} -> ${target} (upwards)`;
  if (rank(to) === rank(from) && second !== ports.get(to)) return `${file} -> ${target} (no port)`;
  return undefined;
}

it("reads the sources", () => {
  expect(sources.length).toBeGreaterThan(50);
  expect(sources.flatMap(importsOf).length).toBeGreaterThan(200);
});

it("every file has a layer", () => {
  expect(sources.filter((file) => rank(layerOf(file)) < 0)).toEqual([]);
});

it("imports only point downwards, and between neighbours only at ports", () => {
  const found = sources.flatMap((file) => importsOf(file).map((to) => violation(file, to)));
  expect(found.filter((line) => line !== undefined)).toEqual([]);
});

it("a stage is made only by its own gate", () => {
  const casts = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/\bas\s+(?:Open<)?(\w+Call)\b/g)]
      .filter(([, stage = ""]) => makers.has(stage) && !makers.get(stage)?.includes(file))
      .map(([, stage]) => `${stage} in ${file}`),
  );
  expect(casts).toEqual([]);
});
