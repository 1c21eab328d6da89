import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { argumentNames, pythonName } from "../engines/cpython/names.ts";
import type { ToolSketch } from "../engines/sandbox.ts";

/** Deeper than this a model reads the schema's name for it, not its shape. */
const deepest = 3;
const mostMembers = 40;

/** `tools.github.create_issue(args: { title: string; body?: string })`. What it answers is always a ToolResult. */
export function typescriptSignature(sketch: ToolSketch): string {
  return `${placeOf(sketch)}(${sketch.inputSchema["properties"] === undefined ? "" : `args: ${typescriptType(sketch.inputSchema, 0)}`})`;
}

/** `tools.github.create_issue(title: str, body: str = …)`. A member in quotes is given in a dictionary, as the only argument. */
export function pythonSignature(sketch: ToolSketch): string {
  const { inputSchema } = sketch;
  const needed = required(inputSchema);
  const members = Object.entries(object(inputSchema["properties"]));
  const names = argumentNames(members.map(([name]) => name));
  const first = [...members].sort(([one], [other]) => Number(needed.has(other)) - Number(needed.has(one)));
  const shown = first.slice(0, mostMembers).map(([name, schema]) => {
    const shownName = names.get(name) ?? JSON.stringify(name);
    return `${shownName}: ${pythonType(schema, 0)}${needed.has(name) ? "" : " = …"}`;
  });
  return `${pythonPlaceOf(sketch)}(${shown.join(", ")})`;
}

/** Where a script finds it. */
export function placeOf({ server, short }: ToolSketch): string {
  return server === undefined ? `tools.${short}` : `tools.${server}.${short}`;
}

/** Where a script in Python finds it. */
export function pythonPlaceOf({ server, short }: ToolSketch): string {
  return server === undefined ? `tools.${pythonName(short)}` : `tools.${pythonName(server)}.${pythonName(short)}`;
}

function typescriptType(schema: Json | undefined, depth: number): string {
  if (!isJsonObject(schema)) return "unknown";
  const { enum: words, const: only, anyOf, oneOf, items } = schema;
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(words))
    return words
      .slice(0, 12)
      .map((word: Json) => JSON.stringify(word))
      .join(" | ");
  const either = anyOf ?? oneOf;
  if (Array.isArray(either))
    return together(
      either.map((one: Json) => typescriptType(one, depth + 1)),
      " | ",
    );
  const kinds = kindsOf(schema);
  return together(
    kinds.map((kind) => {
      if (kind === "array") return `${grouped(typescriptType(items, depth + 1))}[]`;
      if (kind === "object") return depth >= deepest ? "object" : members(schema, depth);
      return kind === "integer" ? "number" : kind;
    }),
    " | ",
  );
}

function members(schema: JsonObject, depth: number): string {
  const needed = required(schema);
  const shown = Object.entries(object(schema["properties"]))
    .slice(0, mostMembers)
    .map(([name, inner]) => `${keyOf(name)}${needed.has(name) ? "" : "?"}: ${typescriptType(inner, depth + 1)}`);
  return shown.length === 0 ? "Record<string, unknown>" : `{ ${shown.join("; ")} }`;
}

const pythonNames: ReadonlyMap<string, string> = new Map([
  ["string", "str"],
  ["integer", "int"],
  ["number", "float"],
  ["boolean", "bool"],
  ["null", "None"],
  ["object", "dict"],
]);

function pythonType(schema: Json | undefined, depth: number): string {
  if (!isJsonObject(schema)) return "object";
  const { enum: words, anyOf, oneOf, items } = schema;
  if (Array.isArray(words))
    return `Literal[${words
      .slice(0, 12)
      .map((word: Json) => JSON.stringify(word))
      .join(", ")}]`;
  const either = anyOf ?? oneOf;
  if (Array.isArray(either))
    return together(
      either.map((one: Json) => pythonType(one, depth + 1)),
      " | ",
    );
  return together(
    kindsOf(schema).map((kind) => {
      if (kind === "array") return depth >= deepest ? "list" : `list[${pythonType(items, depth + 1)}]`;
      return pythonNames.get(kind) ?? "object";
    }),
    " | ",
  );
}

function kindsOf({ type, properties }: JsonObject): readonly string[] {
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((one: Json) => typeof one === "string");
  return properties === undefined ? ["unknown"] : ["object"];
}

function together(types: readonly string[], by: string): string {
  return [...new Set(types)].join(by) || "unknown";
}

function grouped(type: string): string {
  return type.includes(" | ") ? `(${type})` : type;
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function required(schema: JsonObject): ReadonlySet<Json> {
  const { required: names } = schema;
  return new Set(Array.isArray(names) ? names : []);
}

function object(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
