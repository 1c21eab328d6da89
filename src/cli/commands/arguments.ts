import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { parseStrict } from "../../core/strict-json.ts";
import { UsageProblem } from "../usage-problem.ts";

/** Reads `--args JSON`, or `key=value` words: as text if the tool's schema accepts text for the key, else as JSON. */
export function argumentsFrom(
  json: string | undefined,
  words: readonly string[],
  schema: Json | undefined,
): JsonObject {
  if (json !== undefined && words.length > 0)
    throw new UsageProblem("Give the arguments once: as `--args JSON` or as `key=value`, not both.");
  if (json !== undefined) return objectOf(json, "--args");
  const pairs = words.map((word): readonly [string, Json] => {
    const split = word.indexOf("=");
    if (split < 1)
      throw new UsageProblem(
        `\`${word}\` is not an argument. Write \`key=value\`, or everything as \`--args '{"key": "value"}'\`.`,
      );
    const name = word.slice(0, split);
    return [name, argumentOf(schema, name, word.slice(split + 1))];
  });
  const twice = pairs.find(([name], i) => pairs.findIndex(([other]) => other === name) !== i);
  if (twice !== undefined)
    throw new UsageProblem(
      `\`${twice[0]}\` is given twice. Keep one; a list is written as JSON: \`${twice[0]}='["a","b"]'\`.`,
    );
  return Object.fromEntries(pairs);
}

export function objectOf(text: string, flag: string): JsonObject {
  const parsed = parseStrict(text);
  if ("problem" in parsed)
    throw new UsageProblem(
      `\`${flag}\` is not JSON: ${parsed.problem.replace(/\.$/, "")}. Write an object: \`${flag} '{"key": "value"}'\`.`,
    );
  if (!isJsonObject(parsed.value))
    throw new UsageProblem(`\`${flag}\` must be a JSON object: \`${flag} '{"key": "value"}'\`.`);
  return parsed.value;
}

/** Sample arguments for a question about a call; no tool runs with them. */
export function sampleArguments(schema: JsonObject): JsonObject {
  const sampled = sampleObject(schema, 0);
  return isJsonObject(sampled) ? sampled : {};
}

/** A schema may refer to itself. */
const maxSampleDepth = 8;
const maxSampleText = 64;

function sample(schema: Json | undefined, depth: number): Json {
  const given =
    memberOf(schema, "const") ??
    memberOf(schema, "default") ??
    first(memberOf(schema, "enum")) ??
    first(memberOf(schema, "examples"));
  if (given !== undefined || depth > maxSampleDepth) return given ?? "x";
  const choice = first(memberOf(schema, "anyOf")) ?? first(memberOf(schema, "oneOf"));
  if (choice !== undefined) return sample(choice, depth + 1);
  const type = memberOf(schema, "type");
  switch (first(type) ?? type) {
    case "number":
    case "integer":
      return Number(memberOf(schema, "minimum") ?? 0) || Number(memberOf(schema, "exclusiveMinimum") ?? -1) + 1;
    case "boolean":
      return false;
    case "array":
      return Array.from({ length: Math.min(maxSampleDepth, Number(memberOf(schema, "minItems") ?? 0)) }, () =>
        sample(memberOf(schema, "items"), depth + 1),
      );
    case "object":
      return sampleObject(schema, depth);
    default:
      return sampleText(
        Number(memberOf(schema, "minLength") ?? 1),
        Number(memberOf(schema, "maxLength") ?? maxSampleText),
      );
  }
}

function sampleText(least: number, most: number): string {
  return least <= 5 && most >= 5 ? "hello" : "x".repeat(Math.min(maxSampleText, Math.max(1, least)));
}

function sampleObject(schema: Json | undefined, depth: number): Json {
  const required = memberOf(schema, "required");
  const names = Array.isArray(required) ? required.filter((name: Json) => typeof name === "string") : [];
  return Object.fromEntries(
    names.map((name) => [name, sample(memberOf(memberOf(schema, "properties"), name), depth + 1)]),
  );
}

function first(value: Json | undefined): Json | undefined {
  return Array.isArray(value) ? (value as readonly Json[])[0] : undefined; // an array of JSON holds JSON
}

/** What a schema says of a question, `undefined` when it says nothing. */
type SchemaVerdict = boolean | undefined;

function argumentOf(root: Json | undefined, name: string, text: string): Json {
  const parsed = parseStrict(text);
  if ("problem" in parsed) return text; // the tool's schema decides
  let isNamed = false;
  /** Asks the schema of one member, wherever the tool's schema has it. */
  const askMember = (own: (schema: JsonObject) => SchemaVerdict): SchemaVerdict => {
    const found = askSchema(root, root, (schema) => {
      const member = memberOf(memberOf(schema, "properties"), name);
      isNamed ||= member !== undefined;
      return askSchema(root, member, own);
    });
    return isNamed ? found : askSchema(root, memberOf(root, "additionalProperties"), own);
  };
  const accepts = (value: Json): SchemaVerdict => askMember((schema) => acceptsHere(schema, value));
  if (accepts(text) === true) return text;
  const listsText = (schema: JsonObject): SchemaVerdict =>
    listedValues(schema)?.some((value) => typeof value === "string") || undefined;
  return accepts(parsed.value) === false && askMember(listsText) === true ? text : parsed.value;
}

/**
 * Asks a schema and the parts that hold with it. One `false` decides; so does one `true` when no part says `false`. Of a
 * choice, one `true` is enough. A reference is followed once, because a schema may refer to itself.
 */
function askSchema(
  root: Json | undefined,
  schema: Json | undefined,
  own: (schema: JsonObject) => SchemaVerdict,
): SchemaVerdict {
  const followed = new Set<string>();
  const ask = (part: Json | undefined): SchemaVerdict => {
    if (!isJsonObject(part)) return undefined;
    const ref = memberOf(part, "$ref");
    const isNew = typeof ref === "string" && !followed.has(ref);
    if (isNew) followed.add(ref);
    const choices = ["anyOf", "oneOf"].map((keyword) => {
      const answers = partsOf(part, keyword).map(ask);
      return answers.includes(true) || (answers.includes(false) ? false : undefined);
    });
    const answers = [
      own(part),
      isNew ? ask(referred(root, ref)) : undefined,
      ...partsOf(part, "allOf").map(ask),
      ...choices,
    ];
    return answers.includes(false) ? false : answers.includes(true) || undefined;
  };
  return ask(schema);
}

/** Only what the schema itself says: its types, and the values that it lists. */
function acceptsHere(schema: JsonObject, value: Json): SchemaVerdict {
  const type = memberOf(schema, "type");
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string");
  const own = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  if (types.length > 0 && !types.some((name) => (name === "integer" ? "number" : name) === own)) return false;
  return listedValues(schema)?.includes(value) ?? (types.length > 0 || undefined);
}

function listedValues(schema: JsonObject): readonly Json[] | undefined {
  const single = memberOf(schema, "const");
  const listed = memberOf(schema, "enum");
  return single !== undefined ? [single] : Array.isArray(listed) ? listed : undefined;
}

function partsOf(schema: Json, keyword: string): readonly Json[] {
  const parts = memberOf(schema, keyword);
  return Array.isArray(parts) ? parts : [];
}

/** The schema that a local reference names: `#`, or `#/` and a JSON pointer. */
function referred(root: Json | undefined, ref: string): Json | undefined {
  if (!/^#(?:\/|$)/.test(ref)) return undefined;
  return ref
    .split("/")
    .slice(1)
    .reduce((found, step) => memberOf(found, unescaped(step)), root);
}

function unescaped(step: string): string {
  const plain = step.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain; // a `%` that encodes nothing
  }
}

/** A member of an object, or an entry of a list by its number. */
function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return (value as readonly Json[])[Number(name)]; // an array of JSON holds JSON
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
