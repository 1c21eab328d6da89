import type { AskedCall, ToolSketch } from "@postern/core/sandbox";
import type { Offer } from "../tools/tool.ts";
import { publicName } from "../tools/upstream-names.ts";
import { chainToolName } from "./names.ts";

/** The tools that a script may call, and how its names are resolved. */
export interface ScriptOffer {
  readonly sketches: readonly ToolSketch[];
  /** Looks a name up without splitting it. An action beside the name counts. An unknown name goes to the gates, which refuse and count it. */
  targetOf(asked: Pick<AskedCall, "tool" | "action">): { readonly tool: string; readonly action: string };
}

/** A tool of a server is `tools.server.tool`, one with several actions `tools.tool.action`, any other `tools.tool`. */
export function scriptOffer(actions: readonly Offer[]): ScriptOffer {
  const byName = new Map<string, Offer>();
  const sketches: ToolSketch[] = [];
  for (const action of actions) {
    if (action.kind !== "local" || action.notFromChain !== undefined || action.tool === chainToolName) continue;
    const name = action.name === "default" ? action.tool : publicName(action.tool, action.name);
    if (byName.has(name)) continue;
    byName.set(name, action);
    sketches.push(sketchOf(name, action));
  }
  return {
    sketches,
    targetOf: ({ tool, action }) => {
      const found = byName.get(tool);
      return found === undefined
        ? { tool, action: action ?? "default" }
        : { tool: found.tool, action: action ?? found.name };
    },
  };
}

function sketchOf(name: string, { tool, name: action, facts, description, inputSchema }: Offer): ToolSketch {
  const { server } = facts;
  if (action !== "default")
    return { name, server: identifier(tool), short: identifier(action), isAction: true, description, inputSchema };
  const prefix = server === undefined ? "" : `${server}__`;
  const own = prefix !== "" && tool.startsWith(prefix) ? tool.slice(prefix.length) : tool;
  return {
    name,
    server: server === undefined ? undefined : identifier(server),
    short: identifier(own),
    description,
    inputSchema,
  };
}

/** A name that a script can write after a dot, in both languages. */
function identifier(name: string): string {
  const clean = name.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^_+/, "");
  return /^[A-Za-z]/.test(clean) ? clean : `t_${clean}`;
}
