/** The tools inside Monty: data without code, whose methods stop the script. */

import { isJsonObject, type Json } from "../../../calls/json.ts";
import { insteadOf } from "../../name-list.ts";
import { dataclass } from "./monty-values.ts";
import { pythonName, standsAlone } from "./names.ts";

export interface Offered {
  readonly name: string;
  /** The arguments' names, in the order they may be given without them. */
  readonly order: readonly string[];
}

export interface Offer {
  /** By a name that stands alone. */
  alone(name: string): Offered | undefined;
  /** Tools with several actions, by a name that stands alone. */
  readonly acting: ReadonlySet<string>;
  /** By server, in the order of their types. */
  readonly servers: ReadonlyMap<string, ReadonlyMap<string, Offered>>;
  member(type: bigint, name: string): Offered | undefined;
  lack(type: bigint, name: string): string;
}

const rootType = 1n;

export function offerOf(tools: Json | undefined): Offer {
  const servers = new Map<string, Map<string, Offered>>();
  const short = new Map<string, Offered | undefined>();
  const whole = new Map<string, Offered>();
  const acting = new Set<string>();
  const places: string[] = [];
  for (const tool of Array.isArray(tools) ? tools : []) {
    if (!isJsonObject(tool)) continue;
    const { inputSchema, server } = tool;
    const properties = isJsonObject(inputSchema) ? inputSchema["properties"] : undefined;
    const offered = { name: String(tool["name"]), order: isJsonObject(properties) ? Object.keys(properties) : [] };
    const brief = pythonName(String(tool["short"]));
    if (tool["isAction"] === true) acting.add(pythonName(String(server)));
    else short.set(brief, short.has(brief) ? undefined : offered);
    whole.set(pythonName(offered.name), offered);
    places.push(typeof server === "string" ? `${pythonName(server)}.${brief}` : brief);
    if (typeof server === "string")
      servers.set(pythonName(server), (servers.get(pythonName(server)) ?? new Map()).set(brief, offered));
  }
  const bare = new Map([...[...short].filter((entry): entry is [string, Offered] => entry[1] !== undefined), ...whole]);
  const named = [...servers];
  const found = (type: bigint): ReadonlyMap<string, Offered> =>
    type === rootType ? bare : (named[Number(type - rootType) - 1]?.[1] ?? new Map());
  return {
    alone: (name) => (standsAlone(name) ? bare.get(name) : undefined),
    acting: new Set([...acting].filter(standsAlone)),
    servers,
    member: (type, name) => found(type).get(name),
    lack: (type, name) => {
      const title = type === rootType ? "tools" : `tools.${named[Number(type - rootType) - 1]?.[0] ?? ""}`;
      const all = type === rootType ? places : [...found(type).keys()];
      return `${title} has no tool \`${name}\`. ${insteadOf(name, [...all].sort())}`;
    },
  };
}

/** `tools`, with one field a server. A method call of either stops the script and tells which it was. */
export function rootOf(offer: Offer): object {
  const fields = [...offer.servers.keys()].map((name): [string, object] => [name, groupOf(offer, name)]);
  return dataclass("tools", rootType, Object.fromEntries(fields));
}

/** `tools.server`, or the tool of several actions that is called so. */
export function groupOf({ servers }: Offer, name: string): object {
  return dataclass(name, rootType + 1n + BigInt([...servers.keys()].indexOf(name)), {});
}
