/** The scripts run in their own processes, because coverage makes the same code much slower. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** Returns the figure that a script beside this file prints. */
async function microseconds(script: string): Promise<number> {
  return Number((await run(process.execPath, [join(import.meta.dirname, script)])).stdout);
}

it("a policy answers within ten microseconds with five hundred rules", async () => {
  expect(await microseconds("decide.ts")).toBeLessThan(10);
});

it("finding an action costs well under a microsecond among a thousand tools", async () => {
  expect(await microseconds("find.ts")).toBeLessThan(1);
});
