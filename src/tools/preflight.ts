import { RuntimeFault } from "../calls/fault.ts";
import { type Json, type JsonObject, sha256 } from "../calls/json.ts";
import { isRecord } from "./kinds.ts";
import { visible } from "./names.ts";
import { deepFrozen } from "./plain.ts";

/** What a stranger's schema may be (facts: ReDoS, exponential `$ref`, wide `anyOf` and `uniqueItems` hang validators). */
export const schemaLimits = {
  maxBytes: 262_144,
  /** As deep as any JSON may be (calls/json.ts). */
  maxDepth: 100,
  /** Schema nodes, counting a definition as often as it is referred to. */
  maxExpandedNodes: 100_000,
  /** How deep a check may have to go, through references: every step is a step of recursion. */
  maxReach: 1_000,
  /** Larger ones are compiled in the worker: compiling takes as long as they are big. */
  inProcessBytes: 32_768,
  /** An array that must hold unique items is checked in process up to this `maxItems`. */
  inProcessUniqueItems: 1_000,
} as const;

export type Dialect = "2020-12" | "2019-09" | "draft-07" | "draft-06" | "draft-04";

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ["json-schema.org/draft/2020-12/schema", "2020-12"],
  ["json-schema.org/draft/2019-09/schema", "2019-09"],
  ["json-schema.org/draft-07/schema", "draft-07"],
  ["json-schema.org/draft-06/schema", "draft-06"],
  ["json-schema.org/draft-04/schema", "draft-04"],
]);

/** A schema that may be compiled: plain frozen JSON, references only within itself, bounded. */
export interface VettedSchema {
  readonly schema: JsonObject;
  readonly dialect: Dialect;
  readonly digest: string;
  /** Expanded schema nodes: what one value may be checked against, at most. */
  readonly weight: number;
  /** No regular expressions, no recursion, small: its check cannot take long if the value is small. */
  readonly inProcess: boolean;
}

/** @throws RuntimeFault `schema_refused`, naming whose schema, what and the limit */
export function preflight(given: unknown, whose: string): VettedSchema {
  const refuse = (why: string): never => {
    throw new RuntimeFault("schema_refused", `The schema of ${visible(whose)} is refused: ${why}`);
  };
  const { schema, text } = plainSchema(given, refuse);
  const dialect = dialectOf(schema, refuse);
  if (Object.hasOwn(schema, "$vocabulary"))
    refuse("it defines a `$vocabulary`; only the standard dialects are supported.");
  const survey = new Survey(schema, dialect, refuse);
  const weight = survey.weight();
  if (weight > schemaLimits.maxExpandedNodes) {
    refuse(`with its references expanded it has more than ${schemaLimits.maxExpandedNodes} parts.`);
  }
  const inProcess = !survey.slow && text.length <= schemaLimits.inProcessBytes;
  return { schema: deepFrozen(schema), dialect, digest: sha256(text), weight, inProcess };
}

/** A JSON object for what somebody gave as one: no getters, no cycles, nothing shared, bounded. */
function plainSchema(
  given: unknown,
  refuse: (why: string) => never,
): { readonly schema: JsonObject; readonly text: string } {
  let text: string | undefined;
  try {
    text = JSON.stringify(given);
  } catch {
    refuse("it is not JSON: it has a cycle, is too deep or holds a bigint."); // all that `JSON.stringify` throws for
  }
  if (text === undefined || !text.startsWith("{")) return refuse("it is not a JSON object.");
  if (Buffer.byteLength(text) > schemaLimits.maxBytes)
    refuse(`it has ${Buffer.byteLength(text)} bytes; the limit is ${schemaLimits.maxBytes}.`);
  if (isDeeperThan(text, schemaLimits.maxDepth)) refuse(`it is nested deeper than ${schemaLimits.maxDepth} levels.`);
  return { schema: JSON.parse(text) as JsonObject, text }; // it begins with a brace
}

/** A schema that is only shown, never compiled. @throws RuntimeFault `schema_refused` */
export function readSchema(given: unknown, whose: string): JsonObject {
  const refuse = (why: string): never => {
    throw new RuntimeFault("schema_refused", `The schema of ${visible(whose)} is refused: ${why}`);
  };
  return deepFrozen(plainSchema(given, refuse).schema);
}

/** By the text, so that no recursion is needed to find out that recursion would not end well. */
function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (quoted && letter === "\\") at += 1;
    else if (letter === '"') quoted = !quoted;
    else if (!quoted && (letter === "{" || letter === "[")) {
      depth += 1;
      if (depth > limit) return true;
    } else if (!quoted && (letter === "}" || letter === "]")) depth -= 1;
  }
  return false;
}

function dialectOf(schema: JsonObject, refuse: (why: string) => never): Dialect {
  const named = schema["$schema"];
  if (named === undefined) return "2020-12";
  const dialect =
    typeof named === "string" ? dialects.get(named.replace(/^https?:\/\//, "").replace(/#$/, "")) : undefined;
  return (
    dialect ??
    refuse(`its \`$schema\` is ${visible(named)}; it must be one of 2020-12, 2019-09, draft-07, draft-06, draft-04.`)
  );
}

/**
 * One look at every object of a schema, at data (`enum`, `default`) as well: a reference may point into it. A property
 * that is merely called `$ref` or `pattern` has a schema as its value, not a text, and is not taken for the keyword.
 */
class Survey {
  slow = false;
  readonly #root: JsonObject;
  readonly #anchors = new Map<string, Json>();
  readonly #weights = new Map<object, number>();
  readonly #open = new Set<object>();
  readonly #refuse: (why: string) => never;

  constructor(root: JsonObject, dialect: Dialect, refuse: (why: string) => never) {
    this.#root = root;
    this.#refuse = refuse;
    this.#look(root, dialect === "draft-04" ? "id" : "$id");
  }

  weight(): number {
    return this.#weigh(this.#root);
  }

  #look(value: Json, idName: string): void {
    if (typeof value !== "object" || value === null) return;
    if (isRecord(value)) this.#lookAtKeywords(value as JsonObject, idName); // a record of a JSON value is a JSON object
    for (const inner of Object.values(value)) this.#look(inner, idName);
  }

  #lookAtKeywords(node: JsonObject, idName: string): void {
    const id = node[idName];
    if (typeof id === "string" && (node !== this.#root || /^file:/i.test(id))) {
      this.#refuse(
        `\`${idName}\` ${visible(id)} is not supported: only the whole schema may have one, and not a \`file:\`.`,
      );
    }
    if (node !== this.#root && typeof node["$schema"] === "string")
      this.#refuse("a part of it has a `$schema` of its own.");
    for (const name of ["$ref", "$dynamicRef", "$recursiveRef"]) {
      const to = node[name];
      if (typeof to === "string" && !to.startsWith("#"))
        this.#refuse(`\`${name}\` ${visible(to)} points out of it; only references within the schema are followed.`);
      if (typeof to === "string" && name !== "$ref") this.slow = true;
    }
    for (const name of ["$anchor", "$dynamicAnchor"]) {
      const anchor = node[name];
      if (typeof anchor === "string") this.#anchors.set(anchor, node);
    }
    if (typeof node["pattern"] === "string" || isRecord(node["patternProperties"])) this.slow = true;
    const { uniqueItems, maxItems } = node;
    if (uniqueItems === true && !(typeof maxItems === "number" && maxItems <= schemaLimits.inProcessUniqueItems))
      this.slow = true;
  }

  /** Expanded size. A definition that is open already is a recursion: how deep it goes depends on the value, so it is slow. */
  #weigh(value: Json): number {
    if (typeof value !== "object" || value === null) return 1;
    const known = this.#weights.get(value);
    if (known !== undefined) return known;
    if (this.#open.has(value)) {
      this.slow = true;
      return 1;
    }
    if (this.#open.size >= schemaLimits.maxReach)
      this.#refuse(`its references are chained deeper than ${schemaLimits.maxReach} levels.`);
    this.#open.add(value);
    let weight = 1;
    for (const [name, inner] of Object.entries(value)) {
      weight += name === "$ref" && typeof inner === "string" ? this.#weigh(this.#target(inner)) : this.#weigh(inner);
    }
    this.#open.delete(value);
    this.#weights.set(value, weight);
    return weight;
  }

  #target(reference: string): Json {
    const fragment = unescaped(reference.slice(1));
    if (fragment === "") return this.#root;
    if (!fragment.startsWith("/"))
      return this.#anchors.get(fragment) ?? this.#refuse(`\`$ref\` ${visible(reference)} names no anchor of it.`);
    let node: Json | undefined = this.#root;
    for (const step of fragment.slice(1).split("/")) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      node =
        typeof node === "object" && node !== null && Object.hasOwn(node, name) ? (node as JsonObject)[name] : undefined; // arrays are read by index the same way
    }
    return node ?? this.#refuse(`\`$ref\` ${visible(reference)} points to nothing.`);
  }
}

function unescaped(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment; // a lone % is no escape: it is looked up as it stands
  }
}
