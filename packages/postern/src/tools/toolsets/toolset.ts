import { type AnyTool, kindOf } from "../kinds.ts";

/**
 * A group of related tools, for example a toolbox. Wrappers change what is offered; the gates enforce what may run.
 *
 * @public
 */
export interface Toolset {
  tools(): readonly AnyTool[];
  /**
   * Calls the listener before each later tool is added. If the listener throws, the tool is not added; if a later listener
   * throws, the function that this one returned is called. Returns a function that ends it. A set that never grows has none.
   */
  follow?(listener: (tool: AnyTool) => undefined | (() => void)): () => void;
}

/**
 * What a runtime accepts: tools, toolsets, or both in one list.
 *
 * @public
 */
export type ToolsInput = Toolset | readonly (AnyTool | Toolset)[];

/** A tool is never a toolset, whatever other members it has. */
export function isToolset(value: unknown): value is Toolset {
  if (typeof value !== "object" || value === null || kindOf(value) !== undefined) return false;
  return "tools" in value && typeof value.tools === "function";
}

/** Every tool that the sets hold now. */
export function toolsIn(given: ToolsInput): readonly AnyTool[] {
  return partsOf(given).flatMap((part) => (isToolset(part) ? part.tools() : [part]));
}

/** Calls `take` for every tool now, and for every tool that a set receives later. */
export function takeTools(given: ToolsInput, take: (tool: AnyTool) => void): void {
  for (const tool of toolsIn(given)) take(tool);
  for (const part of partsOf(given)) if (isToolset(part)) part.follow?.((tool) => void take(tool));
}

function partsOf(given: ToolsInput): readonly (AnyTool | Toolset)[] {
  return isToolset(given) ? [given] : given;
}
