/**
 * `postern/engines`: the engines that run scripts, and the limits of a script.
 *
 * @packageDocumentation
 */

export type { ChainOptions } from "../code-mode/chain-options.ts";
export type { ChainEngine, ChainScript, ChainSummary } from "../core/scripts.ts";
export type { AccessOptions, FirecrackerOptions, KubernetesOptions } from "./hardened.ts";
export { firecrackerDriver, kubernetesDriver } from "./hardened.ts";
export type { EngineSettings } from "./known-engines.ts";
export type {
  AskedCall,
  Printed,
  SandboxDriver,
  SandboxLimits,
  SandboxSession,
  ScriptProgram,
  ScriptStep as SandboxStep,
  SettledCall,
  ToolSketch,
} from "./sandbox.ts";
