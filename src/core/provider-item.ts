import { isJsonObject, type Json, type JsonObject } from "./json.ts";

const mostMembers = 16;
/** In characters. */
const longestText = 256;
/** The call's arguments, of which the log holds only a hash. */
const argumentNames: ReadonlySet<string> = new Set(["arguments", "args", "input"]);

/**
 * The part of a provider's item that is kept: its short members (type, ids, status), with each text cleaned and at most
 * 256 characters long. Returns undefined when there are none.
 */
export function keptItem(item: JsonObject, clean: (text: string) => string): JsonObject | undefined {
  const kept = Object.entries(item)
    .filter(([name, value]) => !argumentNames.has(name) && isShort(value))
    .slice(0, mostMembers)
    .map(([name, value]) => [clean(name), typeof value === "string" ? clean(value) : value]);
  return kept.length === 0 ? undefined : Object.freeze(Object.fromEntries(kept) as JsonObject);
}

export function isProviderItem(value: unknown): value is JsonObject {
  return isJsonObject(value as Json);
}

function isShort(value: Json | undefined): boolean {
  if (typeof value === "string") return value.length <= longestText;
  return typeof value === "number" ? Number.isFinite(value) : typeof value === "boolean";
}
