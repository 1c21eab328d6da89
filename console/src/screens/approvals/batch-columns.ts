import type { JsonObject } from "@postern/core";
import { canonical } from "../../kit/canonical.ts";

export interface BatchColumns {
  /** The arguments that are equal in all requests. */
  readonly shared: JsonObject;
  /** The names of the others, in the order of the first request that has each. */
  readonly differing: readonly string[];
}

export function batchColumns(all: readonly JsonObject[]): BatchColumns {
  const names = [...new Set(all.flatMap((one) => Object.keys(one)))];
  // A request that lacks an argument differs from one whose argument is null.
  const textOf = (one: JsonObject, name: string): string => (Object.hasOwn(one, name) ? canonical(one[name]) : "");
  const isShared = (name: string): boolean => new Set(all.map((one) => textOf(one, name))).size === 1;
  return {
    shared: Object.fromEntries(names.filter(isShared).map((name) => [name, all[0]?.[name] ?? null])),
    differing: names.filter((name) => !isShared(name)),
  };
}
