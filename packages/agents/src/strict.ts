import { isJsonObject, type Json, type JsonObject } from "@postern/core";

/** Whether a provider can be told to generate only arguments that fit the schema. The gate validates them anyway. */
export type StrictDecision =
  | { readonly strict: true; readonly schema: JsonObject }
  | { readonly strict: false; readonly schema: JsonObject; readonly reason: string };

/** The schemas that a provider's strict mode understands. */
export interface StrictRules {
  readonly keywords: ReadonlySet<string>;
  readonly formats: ReadonlySet<string>;
  /** Every property must be required. */
  readonly allRequired: boolean;
  /** `minItems` above this is not understood. */
  readonly mostMinItems: number;
}

const shared = [
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "const",
  "anyOf",
  "$ref",
  "$defs",
  "definitions",
  "description",
  "title",
  "default",
  "format",
  "minItems",
];
const formats = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

export const openaiStrict: StrictRules = {
  keywords: new Set([
    ...shared,
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxItems",
  ]),
  formats: new Set(formats),
  allRequired: true,
  mostMinItems: Number.POSITIVE_INFINITY,
};

export const anthropicStrict: StrictRules = {
  keywords: new Set(shared),
  formats: new Set([...formats, "uri"]),
  allRequired: false,
  mostMinItems: 1,
};

/**
 * Decides strict mode for one tool. The only change of the schema is to close objects that do not state whether they
 * allow more members: all that fits the closed schema fits the original one.
 */
export function decideStrict(schema: JsonObject, rules: StrictRules): StrictDecision {
  if (schema["type"] !== "object") return { strict: false, schema, reason: "the root is not an object" };
  const walk = new Walk(rules);
  const closed = walk.schema(schema, "arguments");
  return walk.reason === undefined
    ? { strict: true, schema: closed as JsonObject } // an object stays an object
    : { strict: false, schema, reason: walk.reason };
}

class Walk {
  readonly #rules: StrictRules;
  reason: string | undefined;

  constructor(rules: StrictRules) {
    this.#rules = rules;
  }

  schema(given: Json, path: string): Json {
    if (this.reason !== undefined) return given;
    if (!isJsonObject(given)) return this.#no(given, `\`${path}\` is not described`);
    const unknown = Object.keys(given).find((keyword) => !this.#rules.keywords.has(keyword));
    if (unknown !== undefined) return this.#no(given, `\`${path}\` uses \`${unknown}\``);
    const problem = this.#keywordProblem(given, path);
    if (problem !== undefined) return this.#no(given, problem);
    return this.#closed(given, path);
  }

  #keywordProblem(given: JsonObject, path: string): string | undefined {
    const { format, minItems, $ref, type, items } = given;
    if (typeof format === "string" && !this.#rules.formats.has(format))
      return `\`${path}\` has the format \`${format}\``;
    if (typeof minItems === "number" && minItems > this.#rules.mostMinItems)
      return `\`${path}\` needs ${minItems} items`;
    if (typeof $ref === "string" && !$ref.startsWith("#")) return `\`${path}\` refers to \`${$ref}\``;
    if (type === "array" && items === undefined) return `\`${path}\` does not describe its items`;
    return undefined;
  }

  #closed(given: JsonObject, path: string): JsonObject {
    const closed: Record<string, Json> = { ...given };
    for (const keyword of ["properties", "$defs", "definitions"])
      if (isJsonObject(given[keyword])) closed[keyword] = this.#members(given[keyword], path);
    if (given["items"] !== undefined) closed["items"] = this.schema(given["items"], `${path}[]`);
    if (Array.isArray(given["anyOf"])) closed["anyOf"] = given["anyOf"].map((one: Json) => this.schema(one, path));
    if (!isObjectSchema(given)) return closed;
    const { additionalProperties = false, properties = {}, required = [] } = given;
    if (additionalProperties !== false) this.#no(given, `\`${path}\` takes members that are not listed`);
    const optional = Object.keys(properties as JsonObject).find(
      (name) => !(required as readonly Json[]).includes(name),
    );
    if (this.#rules.allRequired && optional !== undefined) this.#no(given, `\`${path}.${optional}\` is optional`);
    return { ...closed, properties: closed["properties"] ?? {}, required, additionalProperties: false };
  }

  #members(schemas: JsonObject, path: string): JsonObject {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, one]) => [name, this.schema(one, `${path}.${name}`)]),
    );
  }

  #no(given: Json, reason: string): Json {
    this.reason ??= reason;
    return given;
  }
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === "object" || (Array.isArray(type) && type.includes("object")) || isJsonObject(properties);
}
