/** Toolsets made of other toolsets. They change what is offered; the gates decide what may run. */
import { RuntimeFault } from "@postern/core";
import type { ActiveSkills } from "../../policy/policy.ts";
import { skillsForbid } from "../../policy/rules/skill-layer.ts";
import type { AnyTool } from "../kinds.ts";
import type { Toolset } from "./toolset.ts";

/**
 * Several sets as one, in their order.
 *
 * Contract: `tools()` throws RuntimeFault `options_invalid` if two sets offer one name, because one would hide the other.
 *
 * @public
 */
export function combined(...sets: readonly Toolset[]): Toolset {
  return {
    tools: () => {
      const byName = new Map<string, AnyTool>();
      for (const tool of sets.flatMap((set) => set.tools())) {
        if (byName.has(tool.name)) {
          const message = `Two combined toolsets offer \`${tool.name}\`; give one of them a prefix.`;
          throw new RuntimeFault("options_invalid", message);
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

/**
 * The tools that `keep` accepts. A runtime asks `keep` when it is made, and for each tool that comes later.
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

/**
 * The tools that the active skills of a run allow, asked each time. It may offer less than the gate lets through, never
 * more. Use it to list tools to a model by hand; a runtime's own `offered` does the same.
 *
 * @example
 * const shown = skilled(box, () => runtime.skills?.activeFor("default", runId)).tools();
 *
 * @public
 */
export function skilled(set: Toolset, active: () => ActiveSkills | undefined): Toolset {
  return {
    tools: () => {
      const skills = active();
      return set
        .tools()
        .filter(({ name }) => skills === undefined || skillsForbid(skills, { tool: name }) === undefined);
    },
  };
}

/**
 * The same tools under `prefix__name`.
 *
 * @example
 * const both = combined(prefixed(crm, "crm"), prefixed(shop, "shop"));
 *
 * @public
 */
export function prefixed(set: Toolset, prefix: string): Toolset {
  const renamed = new WeakMap<AnyTool, AnyTool>();
  const rename = (tool: AnyTool): AnyTool => {
    const known = renamed.get(tool) ?? underName(tool, `${prefix}__${tool.name}`);
    renamed.set(tool, known);
    return known;
  };
  return {
    tools: () => set.tools().map(rename),
    follow: (listener) => set.follow?.((tool) => listener(rename(tool))) ?? nothing,
  };
}

const bodies = ["execute", "preview", "classifyRisk", "reconcile", "handleCall"] as const;

/** The copy inherits all other members. Its functions keep their own `this`, which may have private members. */
function underName(tool: AnyTool, name: string): AnyTool {
  const own: PropertyDescriptorMap = { name: { value: name, enumerable: true } };
  for (const body of bodies) {
    const run: unknown = Reflect.get(tool, body);
    if (typeof run === "function") own[body] = { value: run.bind(tool), enumerable: true };
  }
  return Object.create(tool, own) as AnyTool; // it inherits what it does not replace
}

function nothing(): void {}
