/** Under which names a script finds tools in Python: the same for whoever reads a script and whoever runs it. */
import { isJsonObject, type JsonObject } from "../../../calls/json.ts";
import { onceFor } from "../../once-for.ts";
import type { ToolSketch } from "../../sandbox.ts";
import { pythonName, standsAlone } from "./names.ts";

type Named = Pick<ToolSketch, "name" | "server" | "short" | "isAction">;

/** Names behind `tools.` that lead to one tool: the full one, and the short one where only one tool is called so. */
export function plainNames<T extends Named>(tools: readonly T[]): ReadonlyMap<string, T> {
  const short = new Map<string, T | undefined>();
  for (const tool of tools) {
    if (tool.isAction === true) continue;
    const name = pythonName(tool.short);
    short.set(name, short.has(name) ? undefined : tool);
  }
  const names = new Map<string, T>();
  for (const [name, tool] of short) if (tool !== undefined) names.set(name, tool);
  for (const tool of tools) names.set(pythonName(tool.name), tool);
  return names;
}

/** By server, then by the name behind it. */
export function serverNames<T extends Named>(tools: readonly T[]): ReadonlyMap<string, ReadonlyMap<string, T>> {
  const servers = new Map<string, Map<string, T>>();
  for (const tool of tools) {
    if (tool.server === undefined) continue;
    const name = pythonName(tool.server);
    servers.set(name, (servers.get(name) ?? new Map<string, T>()).set(pythonName(tool.short), tool));
  }
  return servers;
}

/** All of them, of what is offered to a script. */
export interface ToolNames {
  readonly plain: ReadonlyMap<string, ToolSketch>;
  readonly servers: ReadonlyMap<string, ReadonlyMap<string, ToolSketch>>;
  /** That a script calls without saying whose they are. */
  readonly alone: ReadonlySet<string>;
  readonly acting: ReadonlySet<string>;
  /** As it is said behind `tools.`, or behind the name of a tool with several actions: its place in the list. */
  readonly places: ReadonlyMap<string, number>;
}

export const toolNames: (tools: readonly ToolSketch[]) => ToolNames = onceFor((tools) => {
  const plain = plainNames(tools);
  const alone = new Set([...[...plain.keys()].filter(standsAlone), "progress", "help"]);
  const servers = serverNames(tools);
  return { plain, servers, alone, acting: actingAlone(tools), places: placesOf(tools, plain, servers) };
});

function placesOf(
  tools: readonly ToolSketch[],
  plain: ToolNames["plain"],
  servers: ToolNames["servers"],
): ReadonlyMap<string, number> {
  const placeOf = new Map(tools.map((tool, at) => [tool, at]));
  const within = [...servers].flatMap(([server, members]) =>
    [...members].map(([name, tool]) => [`${server}.${name}`, tool] as const),
  );
  return new Map([...plain, ...within].map(([name, tool]) => [name, placeOf.get(tool) ?? 0]));
}

/** Names of tools with several actions, which a script says with the action alone: `orders.delete(…)`. */
export function actingAlone(tools: readonly Named[]): ReadonlySet<string> {
  const acting = tools.filter(({ isAction }) => isAction).map(({ server = "" }) => pythonName(server));
  return new Set(acting.filter(standsAlone));
}

/** A tool's arguments in the order they may be given without names. */
export function argumentOrder({ properties }: JsonObject): readonly string[] {
  return isJsonObject(properties) ? Object.keys(properties) : [];
}
