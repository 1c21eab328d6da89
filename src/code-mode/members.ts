import type { JsonObject } from "../core/json.ts";

/** The first of these members that is text: models spell them in several ways. */
export function textIn(given: JsonObject, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = given[name];
    if (typeof value === "string") return value;
  }
  return undefined;
}

export function numberIn(given: JsonObject, name: string): number | undefined {
  const value = given[name];
  return typeof value === "number" ? value : undefined;
}
