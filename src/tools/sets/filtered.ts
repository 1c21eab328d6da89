import type { AnyTool } from "../kinds.ts";
import type { Toolset } from "./toolset.ts";

/** The tools that `keep` lets through, asked each time: a skill that ends gives the others back. */
export function filtered(set: Toolset, keep: (tool: AnyTool) => boolean): Toolset {
  return { tools: () => set.tools().filter(keep) };
}
