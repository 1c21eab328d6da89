/**
 * `postern/tools`: toolboxes and toolsets, the specs that a model gets, and catalogues.
 *
 * @packageDocumentation
 */

export { skillsForbid } from "../policy/rules/skill-layer.ts";
export type { CatalogueOptions, FoundTool } from "./catalogue.ts";
export { scanCatalogue } from "./catalogue.ts";
export type { ToolCallRequest, ToolExecutionResult } from "./exchange.ts";
export { toolCallRequest, toolExecutionResult } from "./exchange.ts";
export type { ActionSpec, HostedTool, ProviderDefinedTool, ProviderSpecs, ToolKind } from "./kinds.ts";
export { isHostedTool, isLocalTool, isProviderDefinedTool } from "./kinds.ts";
export { legacyTool } from "./legacy.ts";
export type { FunctionSpec, ProviderSpec, ToolSpec } from "./offers.ts";
export { specOf } from "./offers.ts";
export type { Registry } from "./registry.ts";
export type { ArgumentsOf, StandardSchema, ToolInput } from "./schema/standard-schema.ts";
export type {
  ActionStatistics,
  AgentStatistics,
  CallStatistics,
  DeciderStatistics,
  DecisionStatistics,
  PeriodCounts,
  Statistics,
  StatisticsRange,
} from "./statistics.ts";
export type { JudgedCall, Offer, PreviewContext, ToolArtifacts, ToolHealth } from "./tool.ts";
export { ToolIndex } from "./tool-index.ts";
export { Toolbox } from "./toolbox.ts";
export type { ToolsInput } from "./toolsets/toolset.ts";
export { combined, filtered, prefixed, skilled } from "./toolsets/wrappers.ts";
