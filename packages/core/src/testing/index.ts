/**
 * `@postern/core/testing`: the suite for engines, and a clock that tests move. It needs `vitest`.
 *
 * @packageDocumentation
 */
export { FakeClock, settled } from "./clock.ts";
export { driven, echoTools } from "./driven.ts";
export { type EngineCheck, type EngineCheckResult, engineChecks, tryEngine } from "./engine-checks.ts";
export { engineContract } from "./engine-contract.ts";
