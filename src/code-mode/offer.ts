import type { AskedCall, ToolSketch } from "../engines/sandbox.ts";
import type { Offer } from "../tools/tool.ts";
import { publicName } from "../tools/upstream-names.ts";
import { chainToolName } from "./names.ts";

/** What a script may call, and where its names lead. */
export interface ScriptOffer {
  readonly sketches: readonly ToolSketch[];
  /**
   * By table, never by taking a name apart. An action that is asked for beside the name is the one that is meant. What nobody
   * offered goes to the gates as it is: they refuse and count it.
   */
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

/** So many callers who see different tools; whoever comes after them has theirs made anew. */
const mostKept = 16;

/** The same offer for the same actions: what engines make of its sketches, they make once (once-for.ts). */
export class ScriptOffers {
  #made: { readonly actions: readonly Offer[]; readonly offer: ScriptOffer }[] = [];

  for(actions: readonly Offer[]): ScriptOffer {
    const known = this.#made.find((one) => isSame(one.actions, actions)) ?? { actions, offer: scriptOffer(actions) };
    if (this.#made[0] !== known) this.#made = [known, ...this.#made.filter((one) => one !== known)].slice(0, mostKept);
    return known.offer;
  }
}

function isSame(some: readonly Offer[], others: readonly Offer[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
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

/** Something a script can write after a dot, in either language. */
function identifier(name: string): string {
  const clean = name.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^_+/, "");
  return /^[A-Za-z]/.test(clean) ? clean : `t_${clean}`;
}
