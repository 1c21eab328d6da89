import { type AnyTool, kindOf } from "../kinds.ts";

/**
 * A group of related tools. Wrappers change what is offered, never what is enforced: that is the gates' business.
 * A toolbox is one; so is anything else that can list tools.
 *
 * @public
 */
export interface Toolset {
  tools(): readonly AnyTool[];
  /**
   * Tells of each tool that comes later, before it is there; throwing keeps it out, and what the listener gives back is
   * called when another one throws. What this returns ends it. A set that never grows has none.
   */
  follow?(listener: (tool: AnyTool) => undefined | (() => void)): () => void;
}

/**
 * What a runtime is given: tools, sets of tools, or both in one list.
 *
 * @public
 */
export type ToolsInput = Toolset | readonly (AnyTool | Toolset)[];

/** A tool is never taken for a set, whatever other members it has. */
export function isToolset(value: unknown): value is Toolset {
  if (typeof value !== "object" || value === null || kindOf(value) !== undefined) return false;
  return "tools" in value && typeof value.tools === "function";
}

/** Every tool that is given, as things are. */
export function toolsIn(given: ToolsInput): readonly AnyTool[] {
  return partsOf(given).flatMap((part) => (isToolset(part) ? part.tools() : [part]));
}

/** Every tool that is given, and every one that a set among them gets later. */
export function takeTools(given: ToolsInput, take: (tool: AnyTool) => void): void {
  for (const tool of toolsIn(given)) take(tool);
  for (const part of partsOf(given)) if (isToolset(part)) part.follow?.((tool) => void take(tool));
}

function partsOf(given: ToolsInput): readonly (AnyTool | Toolset)[] {
  return isToolset(given) ? [given] : given;
}
