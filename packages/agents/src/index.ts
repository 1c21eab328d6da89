/**
 * `@postern/agents`: the common part of all agent libraries. The adapters of single libraries have their own subpaths.
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
