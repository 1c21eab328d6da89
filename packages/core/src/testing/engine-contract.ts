import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxDriver } from "../sandbox/sandbox.ts";
import { engineChecks, tryEngine } from "./engine-checks.ts";

/**
 * The contract of every engine: what a script can do, what it cannot reach, and when it ends. Call it in a test file of
 * vitest. A check that the engine or its language does not have is skipped.
 *
 *     engineContract("my engine", () => myDriver());
 */
export function engineContract(name: string, open: () => SandboxDriver | Promise<SandboxDriver>): void {
  describe(`${name}: the contract of an engine`, () => {
    let driver: SandboxDriver;
    beforeAll(async () => {
      driver = await open();
      expect(await driver.unavailable()).toBeUndefined();
    });
    afterAll(async () => {
      await (driver as Partial<AsyncDisposable>)[Symbol.asyncDispose]?.(); // an engine may have nothing to close
    });

    it.for(engineChecks)("$says", async (check, { skip }) => {
      const result = await tryEngine(driver, check);
      if (result === undefined) skip(`not in ${driver.name}`);
      else expect(result.holds, JSON.stringify(result)).toBe(true);
    });
  });
}
