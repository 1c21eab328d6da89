import type { SandboxDriver } from "../../packages/core/src/sandbox/sandbox.ts";
import type { Json, RuntimeOptions } from "../../packages/postern/src/index.ts";
import { fakeDriver } from "./fake-sandbox.ts";
import { type RuntimeFixture, runtimeFixture } from "./runtime-fixture.ts";

/** A runtime that runs scripts with a fake engine. */
export function scriptFixture(
  options: RuntimeOptions = {},
  driver: SandboxDriver = fakeDriver(),
): Promise<RuntimeFixture> {
  return runtimeFixture({ chains: { drivers: [driver], engines: [driver.name] }, ...options });
}

/** Returns the structured answer of `tool_chain`. */
export function resultOf(outcome: { readonly structured?: Json } | undefined): { readonly [name: string]: Json } {
  return (outcome?.structured ?? {}) as { readonly [name: string]: Json }; // a ChainRunResult
}
