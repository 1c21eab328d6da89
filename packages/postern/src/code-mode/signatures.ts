import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import { argumentNames, pythonName, type ToolSketch } from "@postern/core/sandbox";

/** Deeper types are shown without their members. */
const deepest = 3;
const mostMembers = 40;
const mostLiterals = 12;

/** `tools.github.create_issue(args: { title: string; body?: string })`. The result is always a ToolResult. */
export function typescriptSignature(sketch: ToolSketch): string {
  return `${placeOf(sketch)}(${sketch.inputSchema["properties"] === undefined ? "" : `args: ${typeOf(sketch.inputSchema, 0, typescript)}`})`;
}

/** `tools.github.create_issue(title: str, body: str = …)`. A member in quotes goes into a dictionary, as the only argument. */
export function pythonSignature(sketch: ToolSketch): string {
  const { inputSchema } = sketch;
  const needed = required(inputSchema);
  const members = Object.entries(object(inputSchema["properties"]));
  const names = argumentNames(members.map(([name]) => name));
  const first = [...members].sort(([one], [other]) => Number(needed.has(other)) - Number(needed.has(one)));
  const shown = first.slice(0, mostMembers).map(([name, schema]) => {
    const shownName = names.get(name) ?? JSON.stringify(name);
    return `${shownName}: ${typeOf(schema, 0, python)}${needed.has(name) ? "" : " = …"}`;
  });
  return `${pythonPlaceOf(sketch)}(${shown.join(", ")})`;
}

/** The path of a tool in a script. */
export function placeOf({ server, short }: ToolSketch): string {
  return server === undefined ? `tools.${short}` : `tools.${server}.${short}`;
}

/** The path of a tool in a Python script. */
export function pythonPlaceOf({ server, short }: ToolSketch): string {
  return server === undefined ? `tools.${pythonName(short)}` : `tools.${pythonName(server)}.${pythonName(short)}`;
}

/** How a language writes types. */
interface TypeNotation {
  readonly unknown: string;
  readonly kinds: ReadonlyMap<string, string>;
  literals(values: readonly string[]): string;
  list(schema: JsonObject, depth: number): string;
  object(schema: JsonObject, depth: number): string;
}

const typescript: TypeNotation = {
  unknown: "unknown",
  kinds: new Map([["integer", "number"]]),
  literals: (values) => values.join(" | "),
  list: ({ items }, depth) => `${grouped(typeOf(items, depth + 1, typescript))}[]`,
  object: (schema, depth) => (depth >= deepest ? "object" : members(schema, depth)),
};

const python: TypeNotation = {
  unknown: "object",
  kinds: new Map([
    ["string", "str"],
    ["integer", "int"],
    ["number", "float"],
    ["boolean", "bool"],
    ["null", "None"],
    ["unknown", "object"],
  ]),
  literals: (values) => `Literal[${values.join(", ")}]`,
  list: ({ items }, depth) => (depth >= deepest ? "list" : `list[${typeOf(items, depth + 1, python)}]`),
  object: () => "dict",
};

function typeOf(schema: Json | undefined, depth: number, notation: TypeNotation): string {
  if (!isJsonObject(schema)) return notation.unknown;
  const { enum: values, const: only, anyOf, oneOf } = schema;
  const literals = only === undefined ? values : [only];
  if (Array.isArray(literals))
    return notation.literals(literals.slice(0, mostLiterals).map((value: Json) => JSON.stringify(value)));
  const either = anyOf ?? oneOf;
  const types = Array.isArray(either)
    ? either.map((one: Json) => typeOf(one, depth + 1, notation))
    : kindsOf(schema).map((kind) => {
        if (kind === "array") return notation.list(schema, depth);
        if (kind === "object") return notation.object(schema, depth);
        return notation.kinds.get(kind) ?? kind;
      });
  return [...new Set(types)].join(" | ") || notation.unknown;
}

function members(schema: JsonObject, depth: number): string {
  const needed = required(schema);
  const shown = Object.entries(object(schema["properties"]))
    .slice(0, mostMembers)
    .map(([name, inner]) => `${keyOf(name)}${needed.has(name) ? "" : "?"}: ${typeOf(inner, depth + 1, typescript)}`);
  return shown.length === 0 ? "Record<string, unknown>" : `{ ${shown.join("; ")} }`;
}

function kindsOf({ type, properties }: JsonObject): readonly string[] {
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((one: Json) => typeof one === "string");
  return properties === undefined ? ["unknown"] : ["object"];
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
