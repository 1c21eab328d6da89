/**
 * `postern/engines`: the engines that run scripts.
 *
 * @packageDocumentation
 */

export type { ChainEngine, ChainScript, ChainSummary } from "../core/scripts.ts";
export type { AccessOptions, EngineSettings, FirecrackerOptions, KubernetesOptions } from "./known-engines.ts";
export { firecrackerDriver, kubernetesDriver } from "./known-engines.ts";
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
