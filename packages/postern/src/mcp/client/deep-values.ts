import { isJsonObject, type Json, maxDepth } from "@postern/core";

/** Deeper than a definition may be. */
const mostLevels = maxDepth + 2;

/**
 * The value itself, or, if it is nested so deep that a recursion over it could overflow the stack, a copy without its depths.
 * The copy is still nested too deep for a definition, so the tool is refused for that.
 */
export function withoutDepths(value: Json): Json {
  return isDeeperThan(value, mostLevels) ? cut(value, mostLevels) : value;
}

function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner: Json) => isDeeperThan(inner, levels - 1));
}

function cut(value: Json, levels: number): Json {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return "…";
  if (!isJsonObject(value)) return (value as readonly Json[]).map((inner) => cut(inner, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cut(inner, levels - 1)]));
}
