import { isJsonObject, type Json, type JsonObject } from "./json.ts";

const mostMembers = 16;
/** In characters. */
const longestText = 256;
/** What a model wants a tool to do: the call's arguments, which the log holds as a hash only. */
const argumentNames: ReadonlySet<string> = new Set(["arguments", "args", "input"]);

/**
 * What is kept of a provider's item for a call: its own short members (type, ids, status), each text cleaned and at most 256
 * characters long. Undefined when nothing is left.
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
