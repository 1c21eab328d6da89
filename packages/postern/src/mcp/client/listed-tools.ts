import { canonical, type Json } from "@postern/core";
import { publicName } from "../../tools/upstream-names.ts";
import type { ServerConfig } from "./server-config.ts";
import type { UpstreamList, UpstreamTool } from "./upstream.ts";

export interface ListedTools {
  /** By public name. */
  readonly wanted: ReadonlyMap<string, UpstreamTool>;
  /** Why tools of a list cannot be offered, by public name. */
  readonly refused: ReadonlyMap<string, string>;
  /** The operator switched these off. */
  readonly off: readonly UpstreamTool[];
}

/** The tool's name here: the server's own, or the one that the operator gave it. */
export function localToolName(tool: string, { tools }: ServerConfig): string {
  return (tools !== undefined && Object.hasOwn(tools, tool) ? tools[tool]?.as : undefined) ?? tool;
}

/** Where the tools of a server are offered. */
export interface ToolsPlace {
  /** The public name of a tool by its local one. */
  readonly nameOf: (local: string) => string;
  /** Where settings of its tools are written, for messages. */
  readonly settings: string;
  /** When a tool with a changed definition can be called again, for messages. Left out: when an operator approved it. */
  readonly onChange?: string;
}

/** The place of a server of the configuration. */
export function configuredPlace(server: string): ToolsPlace {
  return { nameOf: (local) => publicName(server, local), settings: `servers.${server}.tools` };
}

/** A list by public names. If several tools have one name, none is offered, because a call could mean any of them. */
export function listedTools(place: ToolsPlace, config: ServerConfig, { tools, malformed }: UpstreamList): ListedTools {
  const { nameOf } = place;
  const isOn = ({ name }: UpstreamTool): boolean =>
    config.tools === undefined || !Object.hasOwn(config.tools, name) || config.tools[name]?.enabled !== false;
  const named = Map.groupBy(tools.filter(isOn), ({ name }) => nameOf(localToolName(name, config)));
  const wanted = new Map<string, UpstreamTool>();
  const refused = new Map<string, string>();
  for (const { tool, why } of malformed) refused.set(nameOf(localToolName(tool, config)), why);
  for (const [name, alike] of named) {
    const [first, ...others] = alike;
    if (first === undefined) continue;
    if (others.every((other) => isSame(first, other))) wanted.set(name, first);
    else refused.set(name, whyNone(place, alike));
  }
  return { wanted, refused, off: tools.filter((tool) => !isOn(tool)) };
}

/** The same entry twice is one tool. */
function isSame(one: UpstreamTool, other: UpstreamTool): boolean {
  try {
    return canonical(one as unknown as Json) === canonical(other as unknown as Json); // both were read from JSON
  } catch {
    return false; // nested too deep for a definition: each such tool is refused
  }
}

function whyNone({ settings }: ToolsPlace, alike: readonly UpstreamTool[]): string {
  const names = [...new Set(alike.map(({ name }) => name))];
  if (names.length === 1)
    return `Its server lists ${alike.length} different tools of this name, so none of them is offered.`;
  const keys = names.map((name) => `\`${settings}.${name}.as\``).join(" and ");
  return `${names.length} tools of its server have this name here, so none of them is offered. Change ${keys}.`;
}
