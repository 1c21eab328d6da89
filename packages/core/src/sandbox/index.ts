/**
 * `@postern/core/sandbox`: what an engine for scripts implements, and what engines share.
 *
 * @packageDocumentation
 */
export { isJsonObject, type JsonObject } from "../json.ts"; // a child process loads this entry alone
export { textEnd } from "./json-text-end.ts";
export type { ArgumentBounds } from "./large-arguments.ts";
export {
  argumentBoundsOf,
  holdsMore,
  moreThan,
  tooLarge,
  usualArgumentBytes,
  usualArgumentValues,
} from "./large-arguments.ts";
export { argumentNames, pythonName } from "./python-names.ts";
export type {
  AskedCall,
  Printed,
  SandboxDriver,
  SandboxLimits,
  SandboxSession,
  ScriptProgram,
  ScriptStep,
  SettledCall,
  ToolSketch,
} from "./sandbox.ts";
