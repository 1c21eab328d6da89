import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isAlive } from "../../packages/core/src/system/groups.ts";
import { cpuMsOf } from "../fakes/process-tree.ts";

const host = join(import.meta.dirname, "../crash/endless-scripts.ts");

it.skipIf(process.platform === "win32")(
  "no endless script outlives its killed host",
  async () => {
    const living = spawn(process.execPath, [host], { stdio: ["ignore", "pipe", "inherit"] });
    const [said]: unknown[] = await once(living.stdout, "data");
    const found: readonly (readonly [string, number])[] = JSON.parse(String(said));
    expect(found.map(([name]) => name)).toEqual(expect.arrayContaining(["quickjs"]));
    for (const [, pid] of found) await expect.poll(() => cpuMsOf(pid), { timeout: 30_000 }).toBeGreaterThan(200);
    living.kill("SIGKILL");
    await expect.poll(() => found.filter(([, pid]) => isAlive(pid))).toEqual([]);
  },
  120_000,
);
