import type { AnyTool } from "../kinds.ts";
import type { Toolset } from "./toolset.ts";

/**
 * The tools that `keep` lets through, asked each time: a skill that ends gives the others back. A runtime asks it when it
 * is made, and of each tool that comes later.
 *
 * @example
 * const reading = filtered(set, ({ risk }) => risk === "safe");
 *
 * @public
 */
export function filtered(set: Toolset, keep: (tool: AnyTool) => boolean): Toolset {
  return {
    tools: () => set.tools().filter(keep),
    follow: (listener) => set.follow?.((tool) => (keep(tool) ? listener(tool) : undefined)) ?? nothing,
  };
}

function nothing(): void {}
