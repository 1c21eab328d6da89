import type { Json } from "../calls/json.ts";

/** Freezes a JSON value all the way down, in place. The value must be a tree: what `JSON.parse` gives. */
export function deepFrozen<T extends Json>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) deepFrozen(inner);
  return Object.freeze(value);
}
