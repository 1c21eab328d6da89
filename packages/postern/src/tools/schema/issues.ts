import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import type { Issue } from "../tool.ts";

/** A JSON pointer as fragment (`#/to/0`) for the value it points into: array positions become numbers. */
export function pathOf(location: string, root: Json): readonly (string | number)[] {
  const pointer = decoded(location.slice(location.indexOf("#") + 1)).replace(/^\*/, ""); // a star points to a property's name
  if (pointer === "") return [];
  let node: Json | undefined = root;
  return pointer
    .slice(1)
    .split("/")
    .map((step) => {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      const place = Array.isArray(node) ? Number(name) : name;
      node = node === undefined ? undefined : valueAt([place], node);
      return place;
    });
}

export function valueAt(path: readonly (string | number)[], root: Json): Json | undefined {
  let node: Json | undefined = root;
  for (const place of path) {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, place)) return undefined;
    node = (node as JsonObject)[place]; // an array is read by its position the same way
  }
  return node;
}

/** What was expected, in words. `given` is never quoted, because it may hold a secret. */
export function issueSentence(keyword: string, expected: Json | undefined, given: Json | undefined): string {
  const shown = JSON.stringify(expected)?.slice(0, 200);
  switch (keyword) {
    case "type":
      return `expected ${Array.isArray(expected) ? expected.join(" or ") : String(expected)}, got ${kindOf(given)}`;
    case "required":
      return missing(expected, given);
    case "enum":
      return `expected one of ${shown}`;
    case "const":
      return `expected ${shown}`;
    case "additionalProperties":
    case "unevaluatedProperties":
      return "is not a known argument";
    case "anyOf":
    case "oneOf":
      return `does not fit ${keyword === "anyOf" ? "any" : "exactly one"} of the allowed forms`;
    case "not":
      return "has a form that is not allowed";
    case "minLength":
    case "maxLength":
    case "minItems":
    case "maxItems":
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
    case "multipleOf":
    case "pattern":
      return `expected ${keyword} ${shown}`;
    default:
      return `does not satisfy \`${keyword}\`${shown === undefined || isJsonObject(expected) ? "" : ` ${shown}`}`;
  }
}

/** `to[0].name: expected string, got number`, or `to is missing`: for people and models. A predicate gets its subject. */
export function issueText({ path, message }: Issue): string {
  const place = path
    .map((step, at) => (typeof step === "number" ? `[${step}]` : `${at === 0 ? "" : "."}${step}`))
    .join("");
  const isPredicate = /^(?:is|has|does|could) /.test(message);
  if (place === "") return isPredicate ? `the arguments object ${message}` : message;
  return isPredicate ? `\`${place}\` ${message}` : `\`${place}\`: ${message}`;
}

function kindOf(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function missing(required: Json | undefined, given: Json | undefined): string {
  if (!Array.isArray(required) || !isJsonObject(given)) return "something required is missing";
  const names = required.filter((name) => typeof name === "string" && !Object.hasOwn(given, name));
  const listed = names.map((name) => `\`${String(name)}\``).join(", ");
  return `${listed} ${names.length === 1 ? "is" : "are"} missing`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone % is no escape
  }
}
