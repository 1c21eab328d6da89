import { isJsonObject, type Json, type JsonObject, referenceKey } from "@postern/core";

/** What a tool's schema takes in place of an artifact reference. */
export type WantedReference = "reference" | "base64" | "text";

/** Depth at which the walk of a recursive schema stops. */
const deepest = 50;

/** What the schema wants at a path. Default text. */
export function wantedAt(schema: JsonObject, path: readonly (string | number)[]): WantedReference {
  const found = schemasAt(schema, schema, path, 0);
  if (found.some(namesReference)) return "reference";
  return found.some(isBinary) ? "base64" : "text";
}

function namesReference(schema: JsonObject): boolean {
  const { properties } = schema;
  return isJsonObject(properties) && Object.hasOwn(properties, referenceKey);
}

/** JSON Schema uses `contentEncoding`, OpenAPI a format. */
function isBinary({ contentEncoding, format }: JsonObject): boolean {
  const encoding = typeof contentEncoding === "string" ? contentEncoding.toLowerCase() : "";
  return encoding.startsWith("base64") || ["byte", "binary", "base64"].includes(String(format));
}

/** Keywords that do not depend on the characters of a string. */
const outside: ReadonlySet<string> = new Set([
  ...["type", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"],
  ...["contentEncoding", "contentMediaType", "format", "minLength", "maxLength"],
]);

/**
 * Whether the schema asks only for a string of some length at a path, and this string has that length. Then a very long
 * string need not be given to a validator, which would copy it.
 */
export function takesText(schema: JsonObject, path: readonly (string | number)[], text: string): boolean {
  const found = schemasAt(schema, schema, path, 0);
  return found.length > 0 && found.every((one) => isOutside(one, text));
}

function isOutside(schema: JsonObject, { length }: string): boolean {
  const { type = "string", minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
  const types = Array.isArray(type) ? type : [type];
  const hasLength = Number(minLength) <= length && length <= Number(maxLength);
  return types.includes("string") && hasLength && Object.keys(schema).every((name) => outside.has(name));
}

/** Every schema that applies at a path; `anyOf`, `oneOf`, `allOf` and `$ref` are followed. */
function schemasAt(
  value: Json | undefined,
  root: JsonObject,
  path: readonly (string | number)[],
  depth: number,
): readonly JsonObject[] {
  if (!isJsonObject(value) || depth > deepest) return [];
  const choices = [value["anyOf"], value["oneOf"], value["allOf"], value["$ref"] && [pointedAt(root, value["$ref"])]]
    .filter((part) => Array.isArray(part))
    .flat();
  const others = choices.flatMap((choice) => schemasAt(choice as Json, root, path, depth + 1)); // a part of JSON is JSON
  const [step, ...rest] = path;
  if (step === undefined) return [value, ...others];
  return [...schemasAt(stepInto(value, step), root, rest, depth + 1), ...others];
}

function stepInto(schema: JsonObject, step: string | number): Json | undefined {
  const { properties, items, prefixItems, additionalProperties } = schema;
  if (typeof step === "number")
    return (Array.isArray(prefixItems) ? (prefixItems[step] as Json | undefined) : undefined) ?? items;
  const known = isJsonObject(properties) && Object.hasOwn(properties, step) ? properties[step] : undefined;
  return known ?? additionalProperties;
}

/** What a reference within the schema names (`#/$defs/File`). */
function pointedAt(root: JsonObject, reference: Json): Json {
  if (typeof reference !== "string" || !reference.startsWith("#/")) return null;
  let at: Json | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at ?? null;
}
