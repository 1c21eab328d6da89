/** The scripts run in their own processes, because coverage makes the same code much slower. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** Returns the figure that a script beside this file prints. */
async function figureOf(script: string): Promise<number> {
  return Number((await run(process.execPath, [join(import.meta.dirname, script)])).stdout);
}

it("a policy decides by five hundred rules sooner than JSON of a hundred is parsed", async () => {
  expect(await figureOf("decide.ts")).toBeLessThan(0.9);
});

it("finding an action costs well under a microsecond among a thousand tools", async () => {
  expect(await figureOf("find.ts")).toBeLessThan(1);
});
