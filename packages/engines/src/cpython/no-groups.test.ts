/** The kernel offers no control groups: its tree `/sys` is one of our own, in which none can be made. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const asked = `
const { CpythonDriver } = await import(${JSON.stringify(join(import.meta.dirname, "cpython.ts"))});
const { Groups } = await import(${JSON.stringify(join(import.meta.dirname, "../../../core/src/system/groups.ts"))});
console.log(JSON.stringify({ missing: await new CpythonDriver().unavailable(), groups: Groups.open("postern-test", 256) ?? null }));
`;
const ownTree = ["--mount", "--net", "sh", "-c", 'mount -t sysfs sysfs /sys && exec "$@"', "sh"];
const options = ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", asked];

interface Answer {
  readonly missing?: string;
  readonly groups: unknown;
}

async function inEmptyKernelTree(): Promise<Answer> {
  const words = [...ownTree, process.execPath, ...options];
  return JSON.parse((await run("unshare", words, { timeout: 15_000 })).stdout);
}

/** A container's root may make no mounts. */
const canMount = spawnSync("unshare", [...ownTree, "true"], { timeout: 15_000 }).status === 0;
const needs = [["`unshare` with the right to mount", canMount]] as const;
const engine = ["/usr/bin/bwrap", "/usr/bin/python3"].map((path) => [path, existsSync(path)] as const);

/** Prints what a test lacks here. */
function lacking(parts: readonly (readonly [name: string, isHere: boolean])[]): boolean {
  const lacks = parts.filter(([, isHere]) => !isHere).map(([name]) => name);
  if (lacks.length > 0) console.warn(`SKIPPED: root without control groups: this machine lacks ${lacks.join(", ")}`);
  return lacks.length > 0;
}

it.skipIf(lacking(needs))("does not wait for control groups that cannot be made", async () => {
  expect((await inEmptyKernelTree()).groups).toBeNull();
});

it.skipIf(lacking([...needs, ...engine]))("refuses CPython for root without control groups", async () => {
  expect((await inEmptyKernelTree()).missing).toContain("without control groups");
});
