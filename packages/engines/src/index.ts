/**
 * `@postern/engines`: the engines that run scripts.
 *
 * @packageDocumentation
 */

export type { ChainEngine, ChainScript, ChainSummary } from "@postern/core";
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
} from "@postern/core/sandbox";
export type {
  AccessOptions,
  EngineSettings,
  FirecrackerOptions,
  KubernetesOptions,
  QemuOptions,
} from "./known-engines.ts";
export {
  defaultEngines,
  firecrackerDriver,
  knownEngines,
  kubernetesDriver,
  placedEngine,
  placedEngines,
  qemuDriver,
} from "./known-engines.ts";
