/** What a tool's JSON Schema says of one argument, as far as it decides how a word of the command line is read. */
import { isJsonObject, type Json } from "../../core/json.ts";
import { parseStrict } from "../../core/strict-json.ts";

/** What a schema accepts: whole types, and single values of its `enum` and `const`. Undefined: it does not say. */
interface AcceptedArgument {
  readonly types: ReadonlySet<string>;
  readonly values: readonly Json[];
}

/** Reads the words of a command line as one tool's schema says: text where it accepts text, JSON everywhere else. */
export class ArgumentReader {
  readonly #root: Json | undefined;

  /** @param root the tool's schema, when it is known */
  constructor(root: Json | undefined) {
    this.#root = root;
  }

  read(name: string, text: string): Json {
    const parsed = parseStrict(text);
    if ("problem" in parsed) return text; // the tool's schema has the last word
    const accepted = this.#accepted(this.#member(this.#root, name, new Set()), new Set());
    return accepted !== undefined && prefersText(accepted, text, parsed.value) ? text : parsed.value;
  }

  /** The schema of one member, also when a part of the object's schema holds it. */
  #member(schema: Json | undefined, name: string, followed: Set<string>): Json | undefined {
    if (!isJsonObject(schema)) return undefined;
    const inside = (part: Json | undefined): readonly Json[] => {
      const found = this.#member(part, name, followed);
      return found === undefined ? [] : [found];
    };
    const own = memberOf(memberOf(schema, "properties"), name);
    const found = [
      ...(own === undefined ? [] : [own]),
      ...[this.#referred(schema, followed), ...partsOf(schema, "allOf")].flatMap(inside),
      ...choiceKeywords.flatMap((keyword) => {
        const choices = partsOf(schema, keyword).flatMap(inside);
        return choices.length === 0 ? [] : [{ anyOf: choices }];
      }),
    ];
    return found.length === 0 ? memberOf(schema, "additionalProperties") : { allOf: found };
  }

  /** Every statement of a schema holds; each of its choices may. */
  #accepted(schema: Json | undefined, followed: Set<string>): AcceptedArgument | undefined {
    if (!isJsonObject(schema)) return undefined;
    const of = (part: Json | undefined): AcceptedArgument | undefined => this.#accepted(part, followed);
    return [
      typesOf(memberOf(schema, "type")),
      valuesOf(schema),
      of(this.#referred(schema, followed)),
      ...partsOf(schema, "allOf").map(of),
      ...choiceKeywords.map((keyword) => either(partsOf(schema, keyword).map(of))),
    ].reduce(both, undefined);
  }

  /** The schema that a local `$ref` names (`#` or `#/…`, a JSON pointer); once, because it may refer to itself. */
  #referred(schema: Json, followed: Set<string>): Json | undefined {
    const ref = memberOf(schema, "$ref");
    if (typeof ref !== "string" || !/^#(?:\/|$)/.test(ref) || followed.has(ref)) return undefined;
    followed.add(ref);
    const steps = ref.split("/").slice(1);
    return steps.reduce((at, step) => memberOf(at, unescaped(step)), this.#root);
  }
}

const choiceKeywords = ["anyOf", "oneOf"] as const;

/** Values that a schema lists are compared whole: where only the number is listed, text is not meant. */
function prefersText(accepted: AcceptedArgument, text: string, parsed: Json): boolean {
  if (takes(accepted, text)) return true;
  return accepted.values.some((value) => typeof value === "string") && !takes(accepted, parsed);
}

function takes({ types, values }: AcceptedArgument, value: Json): boolean {
  return types.has(typeOf(value)) || values.includes(value);
}

function typesOf(type: Json | undefined): AcceptedArgument | undefined {
  const names = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
  if (names.length === 0) return undefined;
  return { types: new Set(names.map((name) => (name === "integer" ? "number" : name))), values: [] };
}

function valuesOf(schema: Json): AcceptedArgument | undefined {
  const single = memberOf(schema, "const");
  if (single !== undefined) return { types: new Set(), values: [single] };
  const listed = memberOf(schema, "enum");
  return Array.isArray(listed) ? { types: new Set(), values: listed } : undefined;
}

/** A choice that does not say what it accepts leaves the others' word. */
function either(choices: readonly (AcceptedArgument | undefined)[]): AcceptedArgument | undefined {
  const known = choices.filter((choice) => choice !== undefined);
  if (known.length === 0) return undefined;
  return {
    types: new Set(known.flatMap(({ types }) => [...types])),
    values: known.flatMap(({ values }) => values),
  };
}

function both(one: AcceptedArgument | undefined, other: AcceptedArgument | undefined): AcceptedArgument | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const values = [
    ...one.values.filter((value) => takes(other, value)),
    ...other.values.filter((value) => one.types.has(typeOf(value))),
  ];
  return { types: new Set([...one.types].filter((type) => other.types.has(type))), values };
}

function unescaped(step: string): string {
  const plain = step.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain; // a `%` that encodes nothing stands for itself
  }
}

function partsOf(schema: Json, keyword: string): readonly Json[] {
  const parts = memberOf(schema, keyword);
  return Array.isArray(parts) ? parts : [];
}

/** JSON Schema's name of a value's type, with `number` for whole numbers too. */
function typeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** A member of an object, or an entry of a list by its number. */
function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return (value as readonly Json[])[Number(name)]; // an array of JSON holds JSON
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
