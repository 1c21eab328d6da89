import { isData, isJsonObject, type Json, type JsonObject, mapKeywords, pointedTo, unescaped } from "@postern/core";
import { unicodePattern } from "./unicode-pattern.ts";

export interface TidyOptions {
  /** The tool's server fills in what has a default: it is not required of a caller. */
  readonly fillsDefaults?: boolean | undefined;
  /** `items` of a list of schemas, with `additionalItems`: before 2020-12. */
  readonly oldTuples?: boolean | undefined;
}

/**
 * The same schema in a form that the validator accepts. It has no null keywords, no inner `$schema` and no descriptions.
 * Patterns are written for the `u` flag, references as URI fragments, and constants that look like references as equal
 * schemas.
 *
 * @param schema plain JSON that is not deep
 */
export function tidySchema(schema: JsonObject, options: TidyOptions = {}): JsonObject {
  return new Tidying(schema, options).tidied();
}

/** Without keywords that are null, at every depth. */
export function withoutNullKeywords(schema: JsonObject): JsonObject {
  return keywordsOf(schema, (value) => (isJsonObject(value) ? withoutNullKeywords(value) : value));
}

/** Changes the schemas of each keyword; data stay unchanged. */
function keywordsOf(schema: JsonObject, change: (value: Json) => Json): JsonObject {
  const inner = (value: Json): Json => (Array.isArray(value) ? value.map((one: Json) => change(one)) : change(value));
  const entries = Object.entries(schema).flatMap(([name, value]): (readonly [string, Json])[] => {
    if (value === null && name !== "default" && name !== "const") return [];
    if (isData(name)) return [[name, value]];
    if (!mapKeywords.has(name) || !isJsonObject(value)) return [[name, inner(value)]];
    const named = Object.entries(value).map(([key, part]) => [key, part === null ? {} : inner(part)]);
    return [[name, Object.fromEntries(named) as JsonObject]]; // its values are JSON
  });
  return Object.fromEntries(entries);
}

class Tidying {
  readonly #root: JsonObject;
  readonly #options: TidyOptions;

  constructor(root: JsonObject, options: TidyOptions) {
    this.#root = root;
    this.#options = options;
  }

  tidied(): JsonObject {
    const { $schema } = this.#root;
    const schema = this.#schema(this.#root);
    return $schema === undefined ? schema : { ...schema, $schema };
  }

  #schema(schema: JsonObject): JsonObject {
    const { default: _default, examples: _examples, example: _example, $schema: _dialect, ...kept } = schema;
    const made = keywordsOf(kept, (value) => (isJsonObject(value) ? this.#schema(value) : value));
    return this.#withoutReferences({
      ...made,
      ...this.#patterns(made),
      ...references(made),
      ...this.#required(schema),
      ...withNull(made),
    });
  }

  #patterns({ pattern, patternProperties }: JsonObject): JsonObject {
    return {
      ...(typeof pattern === "string" && { pattern: unicodePattern(pattern) ?? pattern }),
      ...(isJsonObject(patternProperties) && {
        patternProperties: Object.fromEntries(
          Object.entries(patternProperties).map(([key, schema]) => [unicodePattern(key) ?? key, schema]),
        ),
      }),
    };
  }

  #required({ required, properties }: JsonObject): JsonObject {
    if (this.#options.fillsDefaults !== true || !Array.isArray(required) || !isJsonObject(properties)) return {};
    const left = required.filter((name: Json) => typeof name !== "string" || !this.#hasDefault(properties, name));
    return { required: left };
  }

  /** Whether the property, or the schema it refers to, has a default. */
  #hasDefault(properties: JsonObject, name: string): boolean {
    let schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    for (let steps = 0; steps < mostSteps && isJsonObject(schema); steps += 1) {
      if (schema["default"] !== undefined) return true;
      const { $ref } = schema;
      schema = typeof $ref === "string" ? pointedTo($ref, this.#root) : undefined;
    }
    return false;
  }

  /** The validator takes every `$ref` and `$id` for one, in constants too. */
  #withoutReferences(schema: JsonObject): JsonObject {
    const { const: constant, enum: choices, ...rest } = schema;
    const isOdd = (value: Json | undefined): boolean =>
      value !== undefined && /"(?:\$|id")/.test(JSON.stringify(value));
    if (!isOdd(constant) && !isOdd(choices)) return schema;
    const all = [
      ...(constant === undefined ? [] : [this.#exactly(constant)]),
      ...(Array.isArray(choices) ? [{ anyOf: choices.map((choice: Json) => this.#exactly(choice)) }] : []),
      ...(Array.isArray(rest["allOf"]) ? (rest["allOf"] as readonly Json[]) : []),
    ];
    return { ...rest, allOf: all };
  }

  #exactly(value: Json): JsonObject {
    if (Array.isArray(value)) {
      const parts = value.map((one: Json) => this.#exactly(one));
      const size = { type: "array", minItems: parts.length, maxItems: parts.length };
      if (parts.length === 0) return size;
      return { ...size, ...(this.#options.oldTuples === true ? { items: parts } : { prefixItems: parts }) };
    }
    if (!isJsonObject(value)) return { enum: [value] };
    const properties = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.#exactly(part)]));
    return { type: "object", properties, required: Object.keys(value), additionalProperties: false };
  }
}

const mostSteps = 10;

function references(schema: JsonObject): JsonObject {
  const names = ["$ref", "$dynamicRef"] as const;
  return Object.fromEntries(
    names.flatMap((name) => {
      const to = schema[name];
      return typeof to === "string" && to.startsWith("#") ? [[name, `#${encoded(unescaped(to.slice(1)))}`]] : [];
    }),
  );
}

/** Many generators write `#/$defs/List<A>` without encoding it. */
function encoded(fragment: string): string {
  return encodeURI(fragment.toWellFormed()).replaceAll("#", "%23");
}

/** `nullable` is OpenAPI's way to say that null is allowed. */
function withNull({ type, nullable }: JsonObject): JsonObject {
  return nullable === true && typeof type === "string" ? { type: [type, "null"] } : {};
}
