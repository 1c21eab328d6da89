import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

/** Lowest first. A file knows its own layer and the ones before it; a neighbour only through its port file. */
const layers: readonly (readonly string[])[] = [
  ["calls"], ["policy", "stores", "secrets", "results", "audit", "watchers"], ["tools", "approvals", "ledger"], ["gates"], ["executors"],
  ["parts.ts"], ["invoke.ts"], ["resume.ts"], ["face.ts"], ["chains", "fleet"], ["agents"], ["doors"], ["config"], ["runtime.ts"], ["main.ts", "index.ts"],
];
const ports: Readonly<Record<string, string>> = {
  policy: "policy.ts", stores: "store.ts", secrets: "secret-store.ts", results: "artifact-store.ts", audit: "log.ts", watchers: "watcher.ts",
  tools: "tool.ts", approvals: "book.ts", ledger: "ledger.ts", chains: "sandbox.ts", fleet: "order.ts",
};
const rank = (folder: string): number => layers.findIndex((layer) => layer.includes(folder));

it("imports only point downwards, and between neighbours only at ports", () => {
  const violations: string[] = [];
  for (const file of globSync("src/**/*.ts").filter((path) => !path.endsWith(".test.ts"))) {
    const from = file.split("/")[1] ?? "";
    if (rank(from) < 0) violations.push(`${file}: no layer`);
    for (const [, specifier] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
      const target = join(dirname(file), specifier ?? "");
      const [, to = "", port] = target.split("/");
      if (to === from) continue;
      if (rank(to) > rank(from)) violations.push(`${file} -> ${target}`);
      if (rank(to) === rank(from) && port !== ports[to]) violations.push(`${file} -> ${target} (not the port)`);
    }
  }
  expect(violations).toEqual([]);
});

it("a stage is made only by its own gate", () => {
  const made = globSync("src/**/*.ts").flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/ as (\w+Call)\b/g)].map(([, stage]) => `${stage} in ${file}`),
  );
  expect(made.filter((line) => !/src\/(gates\/|fleet\/order\.ts)/.test(line))).toEqual([]);
});
