import { isJsonObject, type JsonObject } from "@postern/core";

/** A header that repeats an argument. */
export interface ParameterHeader {
  readonly name: string;
  readonly value: string;
}

interface NamedPlace {
  readonly name: string;
  readonly path: readonly string[];
}

const placesOf = new WeakMap<JsonObject, readonly NamedPlace[]>();

/** The headers that repeat arguments of a call, not encoded. A tool's schema names them (`x-mcp-header`). */
export function parameterHeaders(schema: JsonObject, given: unknown): readonly ParameterHeader[] {
  let places = placesOf.get(schema);
  if (places === undefined) {
    places = placesIn(schema, []);
    placesOf.set(schema, places);
  }
  return places.flatMap(({ name, path }) => {
    const value = path.reduce<unknown>((inner, key) => (isJsonObject(inner) ? inner[key] : undefined), given);
    if (value === undefined || typeof value === "object") return [];
    return [{ name: `Mcp-Param-${name}`, value: String(value) }];
  });
}

function placesIn(schema: JsonObject, path: readonly string[]): readonly NamedPlace[] {
  const { "x-mcp-header": name, properties } = schema;
  const own =
    typeof name === "string" && /^[\w!#$%&'*+\-.^`|~]+$/.test(name) && path.length > 0 ? [{ name, path }] : [];
  if (!isJsonObject(properties)) return own;
  const inner = Object.entries(properties).flatMap(([key, property]) =>
    isJsonObject(property) ? placesIn(property, [...path, key]) : [],
  );
  return [...own, ...inner];
}

const [begin, end] = ["=?base64?", "?="];
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A value that a header cannot hold is written in Base64. */
export function encoded(value: string): string {
  const isPlain =
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !(value.startsWith(begin) && value.endsWith(end));
  return isPlain ? value : `${begin}${Buffer.from(value, "utf8").toString("base64")}${end}`;
}

/** Returns undefined if it is not valid. */
export function decoded(value: string): string | undefined {
  if (!value.startsWith(begin) || !value.endsWith(end)) return value;
  const bytes = value.slice(begin.length, -end.length);
  if (!base64.test(bytes)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, "base64"));
  } catch {
    return undefined; // it is no UTF-8
  }
}
