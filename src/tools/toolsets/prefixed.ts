import type { AnyTool } from "../kinds.ts";
import type { Toolset } from "./toolset.ts";

const bodies = ["execute", "preview", "classifyRisk", "reconcile", "handleCall"] as const;

/**
 * The same tools under `prefix__name` (case 251).
 *
 * @example
 * const both = combined(prefixed(crm, "crm"), prefixed(shop, "shop"));
 *
 * @public
 */
export function prefixed(set: Toolset, prefix: string): Toolset {
  const renamed = new WeakMap<AnyTool, AnyTool>();
  const rename = (tool: AnyTool): AnyTool => {
    const known = renamed.get(tool);
    if (known !== undefined) return known;
    const fresh = underName(tool, `${prefix}__${tool.name}`);
    renamed.set(tool, fresh);
    return fresh;
  };
  return {
    tools: () => set.tools().map(rename),
    follow: (listener) => set.follow?.((tool) => listener(rename(tool))) ?? nothing,
  };
}

/** Everything else is read from the tool itself; its bodies keep their own `this`, which may have private members. */
function underName(tool: AnyTool, name: string): AnyTool {
  const own: PropertyDescriptorMap = { name: { value: name, enumerable: true } };
  for (const body of bodies) {
    const run: unknown = Reflect.get(tool, body);
    if (typeof run === "function") own[body] = { value: run.bind(tool), enumerable: true };
  }
  return Object.create(tool, own) as AnyTool; // it inherits what it does not replace
}

function nothing(): void {}
