import { RuntimeFault } from "../../core/fault.ts";
import type { AnyTool } from "../kinds.ts";
import type { Toolset } from "./toolset.ts";

/**
 * Several sets as one, in their order.
 *
 * Contract: `tools()` throws RuntimeFault `tool_duplicate` when two of them offer one name: one would shadow the other.
 *
 * @public
 */
export function combined(...sets: readonly Toolset[]): Toolset {
  return {
    tools: () => {
      const byName = new Map<string, AnyTool>();
      for (const tool of sets.flatMap((set) => set.tools())) {
        if (byName.has(tool.name)) {
          throw new RuntimeFault(
            "tool_duplicate",
            `Two combined toolsets offer \`${tool.name}\`; give one of them a prefix.`,
          );
        }
        byName.set(tool.name, tool);
      }
      return [...byName.values()];
    },
    follow: (listener) => {
      const ends = sets.map((set) => set.follow?.(listener));
      return () => {
        for (const end of ends) end?.();
      };
    },
  };
}
