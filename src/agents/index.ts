/**
 * `postern/agents`: what every agent library needs of a runtime. The adapters of single libraries are subpaths of their own.
 *
 * @packageDocumentation
 */
export type {
  AgentContext,
  AgentTool,
  AgentTools,
  ChildClaims,
  RenderedToolAnswer,
  ToolUse,
  ToolUseContext,
} from "./agent-tools.ts";
export { openAgentTools } from "./agent-tools.ts";
export type { DeclareNote, DeclareOptions } from "./declare.ts";
export type { GuardDefinition, GuardedFunction } from "./guard.ts";
export { guard } from "./guard.ts";
export type { ToolStatement, ToolStatements } from "./library-tools.ts";
export { toolSearch } from "./tool-search.ts";
