/**
 * A tool's schema in the form that every provider takes: property names of `A-Z a-z 0-9 _ . -` up to 64 characters, and no
 * union at the top. A provider refuses the whole request because of one tool that is different.
 *
 * Invariant: the gate validates against the tool's own schema; `ownArguments` gives the model's arguments their own names.
 * Next: names.ts (names of tools), strict.ts (strict mode), run-tools.ts (the one place that calls `ownArguments`).
 */

import {
  isData,
  isJsonObject,
  type Json,
  type JsonObject,
  mapKeywords,
  pointedTo,
  referenceKey,
  shortened,
  unescaped,
} from "@postern/core";
import type { Offer } from "postern/tools";
import { type NameRule, providerName } from "./names.ts";

export interface ProviderSchema {
  readonly parameters: JsonObject;
  /** What the parameters cannot say, for the tool's description. Undefined if they say all. */
  readonly note?: string;
  /** Why the parameters allow more than the schema. Undefined if they allow the same. */
  readonly looser?: string;
  /** The tool's own name of each property that has another name in the parameters. */
  readonly ownNames: ReadonlyMap<string, string>;
}

const known = new WeakMap<JsonObject, ProviderSchema>();

export function providerSchema(schema: JsonObject): ProviderSchema {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const renamed = renames(schema);
  const flat = flattened(renamed.size === 0 ? schema : (withNames(schema, renamed) as JsonObject)); // an object stays one
  const ownNames = new Map([...renamed].map(([own, name]) => [name, own]));
  const made = { ...flat, ownNames };
  known.set(schema, made);
  return made;
}

/** What a model is shown of an offer. Arguments of a provider's own tool are the provider's. */
export function shownOffer(offer: Pick<Offer, "kind" | "description" | "inputSchema">): {
  readonly description: string;
  readonly parameters: JsonObject;
} {
  const { kind, description, inputSchema } = offer;
  if (kind !== "local") return { description, parameters: inputSchema };
  const { parameters, note } = providerSchema(inputSchema);
  return { description: note === undefined ? description : `${description}\n\n${note}`.trim(), parameters };
}

/** The arguments with the tool's own names of properties. If the model wrote an own name already, it stays. */
export function ownArguments(
  given: JsonObject,
  { kind, inputSchema }: Pick<Offer, "kind" | "inputSchema">,
): JsonObject {
  if (kind !== "local" || !isJsonObject(given)) return given;
  const { ownNames } = providerSchema(inputSchema);
  return ownNames.size === 0 ? given : (renamedData(given, ownNames) as JsonObject); // an object stays one
}

/** The parts of a schema that providers refuse, for people. Postern's own `$artifact` is not the author's to change. */
export function providerLimits(schema: JsonObject): readonly string[] {
  const { looser, ownNames } = providerSchema(schema);
  const names = [...ownNames.values()].filter((name) => name !== referenceKey);
  return [...names.map((name) => `the property \`${name}\``), ...(looser === undefined ? [] : [looser])];
}

const propertyNames: NameRule = { forbidden: /[^A-Za-z0-9_.-]/g, maxLength: 64, anyStart: true };

/** The provider's name of each property that needs another one. */
function renames(schema: JsonObject): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  JSON.stringify(schema, (keyword, value: Json) => {
    const names = keyword === "properties" && isJsonObject(value) ? Object.keys(value) : [];
    for (const name of names) found.set(name, providerName(name, propertyNames));
    return value;
  });
  return new Map([...found].filter(([name, accepted]) => name !== accepted));
}

/** Keywords whose keys are names of properties. */
const byProperty: ReadonlySet<string> = new Set([
  "properties",
  "dependentSchemas",
  "dependentRequired",
  "dependencies",
]);

function withNames(schema: Json, names: ReadonlyMap<string, string>): Json {
  if (Array.isArray(schema)) return schema.map((one: Json) => withNames(one, names));
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).map(([keyword, value]): readonly [string, Json] => {
    if (isData(keyword)) return [keyword, renamedData(value, names)];
    if (keyword === "required") return [keyword, nameList(value, names)];
    if (keyword === "$ref" && typeof value === "string") return [keyword, renamedPointer(value, names)];
    if (!isJsonObject(value) || !(mapKeywords.has(keyword) || byProperty.has(keyword)))
      return [keyword, withNames(value, names)];
    const members = Object.entries(value).map(([name, part]): readonly [string, Json] => {
      const inner = Array.isArray(part) ? nameList(part, names) : withNames(part, names);
      const renamed = byProperty.has(keyword) ? names.get(name) : undefined;
      return [renamed ?? name, keyword === "properties" && renamed !== undefined ? withOwnName(inner, name) : inner];
    });
    return [keyword, Object.fromEntries(members)];
  });
  return Object.fromEntries(entries);
}

/** The tool's own texts and errors use its own name. */
function withOwnName(schema: Json, name: string): Json {
  if (!isJsonObject(schema)) return schema;
  const { description } = schema;
  const more = typeof description === "string" && description !== "" ? ` ${description}` : "";
  return { ...schema, description: `The tool's own name of it is \`${name}\`.${more}` };
}

function nameList(list: Json, names: ReadonlyMap<string, string>): Json {
  return Array.isArray(list)
    ? list.map((one: Json) => (typeof one === "string" ? (names.get(one) ?? one) : one))
    : list;
}

function renamedPointer(reference: string, names: ReadonlyMap<string, string>): string {
  const steps = reference.split("/").map((step) => {
    const name = unescaped(step).replaceAll("~1", "/").replaceAll("~0", "~");
    return names.get(name) ?? step; // a provider's name needs no escape
  });
  return steps.join("/");
}

function renamedData(value: Json, names: ReadonlyMap<string, string>): Json {
  if (Array.isArray(value)) return value.map((one: Json) => renamedData(one, names));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    const other = names.get(name) ?? name;
    return [other !== name && Object.hasOwn(value, other) ? name : other, renamedData(inner, names)];
  });
  return Object.fromEntries(entries) as JsonObject; // its values are JSON
}

/** Keywords that providers refuse at the top. */
const refusedOnTop = ["anyOf", "oneOf", "allOf", "enum", "const", "not"] as const;

/** An object with all members of the forms of a union; its note says which form takes which. */
function flattened(schema: JsonObject): Pick<ProviderSchema, "parameters" | "note" | "looser"> {
  const union = refusedOnTop.filter((keyword) => Object.hasOwn(schema, keyword));
  const isPlain = union.length === 0 && typeof schema["$ref"] !== "string";
  if (isPlain) return { parameters: schema["type"] === undefined ? { ...schema, type: "object" } : schema };
  const merged = merge(schema, schema);
  const kept = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => keyword !== "$ref" && !union.some((one) => one === keyword)),
  );
  const parameters: JsonObject = {
    ...kept,
    type: "object",
    properties: Object.fromEntries(merged.properties),
    ...(merged.required.size > 0 && { required: [...merged.required] }),
  };
  const looser = union.length === 0 ? {} : { looser: `\`${union.join("`, `")}\` at the top` };
  return {
    parameters: withoutLostReferences(parameters),
    ...looser,
    ...(merged.notes.length > 0 && { note: merged.notes.join(" ") }),
  };
}

/** A reference into the union leads nowhere once the union is gone; any value is shown there. */
function withoutLostReferences(schema: JsonObject): JsonObject {
  const lost = /^#\/(?:anyOf|oneOf|allOf)\//;
  const text = JSON.stringify(schema);
  if (!/"#\/(?:anyOf|oneOf|allOf)\//.test(text)) return schema;
  return JSON.parse(text, (_name, value: Json) =>
    isJsonObject(value) && typeof value["$ref"] === "string" && lost.test(value["$ref"]) ? {} : value,
  );
}

interface MergedSchema {
  readonly properties: Map<string, Json>;
  readonly required: Set<string>;
  readonly notes: string[];
}

/** @param open schemas that are being merged: a schema may refer to itself */
function merge(schema: JsonObject, root: JsonObject, open: readonly JsonObject[] = []): MergedSchema {
  const { properties, required, $ref, allOf } = schema;
  const merged: MergedSchema = {
    properties: new Map(isJsonObject(properties) ? Object.entries(properties) : []),
    required: new Set(Array.isArray(required) ? required.map(String) : []),
    notes: restOf(schema, root),
  };
  if (open.includes(schema)) return merged;
  const inner = (part: Json): MergedSchema => merge(isJsonObject(part) ? part : {}, root, [...open, schema]);
  const target = typeof $ref === "string" ? pointedTo($ref, root) : undefined;
  for (const part of [...(target === undefined ? [] : [target]), ...listOf(allOf)].map(inner)) {
    for (const [name, one] of part.properties) if (!merged.properties.has(name)) merged.properties.set(name, one);
    for (const name of part.required) merged.required.add(name);
    merged.notes.push(...part.notes);
  }
  for (const [keyword, count] of [
    ["anyOf", "at least one"],
    ["oneOf", "exactly one"],
  ] as const) {
    const forms = listOf(schema[keyword]);
    if (forms.length === 0) continue;
    const parts = forms.map(inner);
    for (const [name, one] of unionOf(parts)) if (!merged.properties.has(name)) merged.properties.set(name, one);
    for (const name of parts[0]?.required ?? [])
      if (parts.every((part) => part.required.has(name))) merged.required.add(name);
    const texts = parts.map((part, at) => formText(part, forms[at] ?? true));
    merged.notes.push(`The arguments have ${count} of these forms: ${texts.join("; ")}.`);
  }
  return merged;
}

/** A property of several forms may have the schema of each of them. */
function unionOf(parts: readonly MergedSchema[]): ReadonlyMap<string, Json> {
  const found = new Map<string, Map<string, Json>>();
  for (const { properties } of parts)
    for (const [name, one] of properties)
      found.set(name, (found.get(name) ?? new Map<string, Json>()).set(JSON.stringify(one), one));
  const joined = [...found].map(([name, schemas]): readonly [string, Json] => {
    const [first = true, ...others] = schemas.values();
    return [name, others.length === 0 ? first : { anyOf: [first, ...others] }];
  });
  return new Map(joined);
}

/** What the members of a merged schema cannot say. */
function restOf(schema: JsonObject, root: JsonObject): string[] {
  const said = ["properties", "required", "type", "title", "description", "$ref", "anyOf", "oneOf", "allOf", "default"];
  const isKept = (keyword: string): boolean =>
    schema === root ? !refusedOnTop.some((one) => one === keyword) : keyword === "additionalProperties";
  const rest = Object.entries(schema).filter(([keyword]) => !said.includes(keyword) && !isKept(keyword));
  return rest.length === 0 ? [] : [`They must also fit ${jsonText(Object.fromEntries(rest))}.`];
}

/** The members by which a form differs from the others: its constants and its required members. */
function formText({ properties, required, notes }: MergedSchema, form: Json): string {
  const constants = [...properties].flatMap(([name, one]) => {
    const { const: constant, enum: values } = isJsonObject(one) ? one : {};
    const only = Array.isArray(values) && values.length === 1 ? (values[0] as Json) : constant;
    return only === undefined ? [] : [`\`${name}\` = ${JSON.stringify(only)}`];
  });
  const others = [...required].filter((name) => !constants.some((text) => text.startsWith(`\`${name}\``)));
  const parts = [...constants, ...others.map((name) => `\`${name}\``), ...notes];
  return parts.length > 0 ? parts.join(" and ") : jsonText(form);
}

function jsonText(value: Json): string {
  return shortened(JSON.stringify(value), 600);
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
