import { afterAll, beforeAll } from "vitest";
import type { SandboxSession, ScriptProgram } from "../../packages/core/src/sandbox/sandbox.ts";
import type { WarmDriver } from "../../packages/engines/src/quickjs/driver.ts";
import { type Order, type Ran, roomyLimits, runScript, someTools, warmDriver } from "./scripts.ts";

export interface WarmScripts {
  readonly driver: WarmDriver;
  /** Runs a script to its end. */
  run(source: string, order?: Omit<Order, "driver">): Promise<Ran>;
  /** Starts a script whose calls the test answers. */
  begin(source: string, more?: Partial<ScriptProgram>): Promise<SandboxSession>;
}

/** One running JavaScript engine for all tests of a file. */
export function warmScripts(): WarmScripts {
  let driver: WarmDriver;
  beforeAll(async () => {
    driver = await warmDriver();
  });
  afterAll(() => driver[Symbol.asyncDispose]());
  return {
    get driver() {
      return driver;
    },
    run: (source, order = {}) => runScript(source, { driver, ...order }),
    begin: (source, more = {}) =>
      driver.start({ language: "javascript", source, tools: someTools, chainId: "c", ...more }, roomyLimits),
  };
}
