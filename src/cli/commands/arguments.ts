import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { parseStrict } from "../../core/strict-json.ts";
import { UsageProblem } from "../usage-problem.ts";
import { ArgumentReader } from "./argument-reader.ts";

/** `--args JSON`, or `key=value` words: text where the tool's schema accepts text for the key, JSON everywhere else. */
export function argumentsFrom(
  json: string | undefined,
  words: readonly string[],
  schema: Json | undefined,
): JsonObject {
  if (json !== undefined && words.length > 0)
    throw new UsageProblem("Give the arguments once: as `--args JSON` or as `key=value`, not both.");
  if (json !== undefined) return objectOf(json, "--args");
  const reader = new ArgumentReader(schema);
  const pairs = words.map((word): readonly [string, Json] => {
    const split = word.indexOf("=");
    if (split < 1)
      throw new UsageProblem(
        `\`${word}\` is not an argument. Write \`key=value\`, or everything as \`--args '{"key": "value"}'\`.`,
      );
    const name = word.slice(0, split);
    return [name, reader.read(name, word.slice(split + 1))];
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

/** Arguments that fit a schema well enough to ask what would be decided about them; nothing is run with them. */
export function sampleArguments(schema: JsonObject): JsonObject {
  const sampled = sampleObject(schema, 0);
  return isJsonObject(sampled) ? sampled : {};
}

/** A stranger's schema may refer to itself; deeper than this nothing is made up. */
const maxSampleDepth = 8;
const maxSampleText = 64;

function sample(schema: Json | undefined, depth: number): Json {
  const given =
    at(schema, "const") ?? at(schema, "default") ?? first(at(schema, "enum")) ?? first(at(schema, "examples"));
  if (given !== undefined || depth > maxSampleDepth) return given ?? "x";
  const choice = first(at(schema, "anyOf")) ?? first(at(schema, "oneOf"));
  if (choice !== undefined) return sample(choice, depth + 1);
  const type = at(schema, "type");
  switch (first(type) ?? type) {
    case "number":
    case "integer":
      return Number(at(schema, "minimum") ?? 0) || Number(at(schema, "exclusiveMinimum") ?? -1) + 1;
    case "boolean":
      return false;
    case "array":
      return Array.from({ length: Math.min(maxSampleDepth, Number(at(schema, "minItems") ?? 0)) }, () =>
        sample(at(schema, "items"), depth + 1),
      );
    case "object":
      return sampleObject(schema, depth);
    default:
      return sampleText(Number(at(schema, "minLength") ?? 1), Number(at(schema, "maxLength") ?? maxSampleText));
  }
}

function sampleText(least: number, most: number): string {
  return least <= 5 && most >= 5 ? "hello" : "x".repeat(Math.min(maxSampleText, Math.max(1, least)));
}

function sampleObject(schema: Json | undefined, depth: number): Json {
  const required = at(schema, "required");
  const names = Array.isArray(required) ? required.filter((name: Json) => typeof name === "string") : [];
  return Object.fromEntries(names.map((name) => [name, sample(at(at(schema, "properties"), name), depth + 1)]));
}

function at(value: Json | undefined, name: string): Json | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function first(value: Json | undefined): Json | undefined {
  return Array.isArray(value) ? (value as readonly Json[])[0] : undefined; // an array of JSON holds JSON
}
