/** In processes of their own: while coverage is counted, the same code takes up to seventy times as long. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** What the script beside this file has measured. */
async function microseconds(script: string): Promise<number> {
  return Number((await run(process.execPath, [join(import.meta.dirname, script)])).stdout);
}

it("a policy answers within ten microseconds with five hundred rules", async () => {
  expect(await microseconds("decide.ts")).toBeLessThan(10);
});

it("finding an action costs well under a microsecond among a thousand tools", async () => {
  expect(await microseconds("find.ts")).toBeLessThan(1);
});
