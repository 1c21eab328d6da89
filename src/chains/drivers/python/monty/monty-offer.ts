/** The tools inside Monty: data without code, whose methods stop the script. */

import { isJsonObject, type Json, type JsonObject } from "../../../../calls/json.ts";
import { insteadOf } from "../../../name-list.ts";
import { pythonName, standsAlone } from "../names.ts";
import { actingAlone, argumentOrder, plainNames, serverNames } from "../tool-names.ts";
import { numberIn } from "./monty-rewrite.ts";
import { dataclass } from "./monty-values.ts";

export interface Offered {
  readonly name: string;
  /** The arguments' names, in the order they may be given without them. */
  readonly order: readonly string[];
}

export interface Offer {
  /** By a name that stands alone. */
  alone(name: string): Offered | undefined;
  /** By what stands in its place in a rewritten script. */
  numbered(name: string): Offered | undefined;
  /** Tools with several actions, by a name that stands alone. */
  readonly acting: ReadonlySet<string>;
  /** By server, in the order of their types. */
  readonly servers: ReadonlyMap<string, ReadonlyMap<string, Offered>>;
  member(type: bigint, name: string): Offered | undefined;
  lack(type: bigint, name: string): string;
}

const rootType = 1n;

/** @param tools as the host's order has them: JSON */
export function offerOf(tools: Json | undefined): Offer {
  const told: Json = typeof tools === "string" ? JSON.parse(tools) : [];
  const offered = (Array.isArray(told) ? told : []).filter(isJsonObject).map(readTool);
  const [bare, servers] = [plainNames(offered), serverNames(offered)];
  const places = offered.map(({ server, short }) =>
    [server, short].flatMap((part) => (part === undefined ? [] : pythonName(part))).join("."),
  );
  const named = [...servers];
  const found = (type: bigint): ReadonlyMap<string, Offered> =>
    type === rootType ? bare : (named[Number(type - rootType) - 1]?.[1] ?? new Map());
  return {
    alone: (name) => (standsAlone(name) ? bare.get(name) : undefined),
    numbered: (name) => offered[numberIn(name) ?? -1],
    acting: actingAlone(offered),
    servers,
    member: (type, name) => found(type).get(name),
    lack: (type, name) => {
      const title = type === rootType ? "tools" : `tools.${named[Number(type - rootType) - 1]?.[0] ?? ""}`;
      const all = type === rootType ? places : [...found(type).keys()];
      return `${title} has no tool \`${name}\`. ${insteadOf(name, [...all].sort())}`;
    },
  };
}

function readTool({ name, server, short, isAction, inputSchema }: JsonObject) {
  return {
    ...{ name: String(name), short: String(short), server: typeof server === "string" ? server : undefined },
    order: isJsonObject(inputSchema) ? argumentOrder(inputSchema) : [],
    ...(isAction === true && { isAction }),
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
