import {
  deepFrozen,
  isData,
  isRecord,
  type Json,
  type JsonObject,
  mapKeywords,
  pointedTo,
  RuntimeFault,
  unescaped,
  visible,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import { type TidyOptions, tidySchema } from "./tidy-schema.ts";
import { unicodePattern } from "./unicode-pattern.ts";

/** Limits of a third-party schema. ReDoS, exponential `$ref`, wide `anyOf` and `uniqueItems` hang validators. */
export const schemaLimits = {
  maxBytes: 262_144,
  /** As deep as any JSON may be (core/json.ts). */
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

/** @throws RuntimeFault `options_invalid`, naming whose schema, what and the limit */
export function preflight(
  given: unknown,
  whose: string,
  { fillsDefaults }: Pick<TidyOptions, "fillsDefaults"> = {},
): VettedSchema {
  const refuse = refuserFor(whose);
  const plain = plainSchema(given, refuse);
  const dialect = dialectOf(plain, refuse);
  const schema = tidySchema(plain, { fillsDefaults, oldTuples: dialect !== "2020-12" });
  const text = JSON.stringify(schema);
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

/** A plain copy: no getters, no cycles, nothing shared, bounded. */
function plainSchema(given: unknown, refuse: (why: string) => never): JsonObject {
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
  return JSON.parse(text) as JsonObject; // it begins with a brace
}

/** A schema that is only shown, never compiled. @throws RuntimeFault `options_invalid` */
export function readSchema(given: unknown, whose: string): JsonObject {
  return deepFrozen(plainSchema(given, refuserFor(whose)));
}

function refuserFor(whose: string): (why: string) => never {
  return (why) => {
    throw new RuntimeFault("options_invalid", `The schema of ${visible(whose)} is refused: ${why}`);
  };
}

/** Reads the text, because a recursion over a deep value would overflow the stack. */
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

/** Examines every part of a schema once. Data (`enum`, `default`) and names of properties are not keywords. */
class Survey {
  slow = false;
  readonly #root: JsonObject;
  readonly #idName: string;
  readonly #anchors = new Map<string, JsonObject>();
  readonly #weights = new Map<object, number>();
  readonly #open = new Set<object>();
  readonly #refuse: (why: string) => never;

  constructor(root: JsonObject, dialect: Dialect, refuse: (why: string) => never) {
    this.#root = root;
    this.#refuse = refuse;
    this.#idName = dialect === "draft-04" ? "id" : "$id";
    this.#findAnchors(root);
  }

  weight(): number {
    return this.#weigh(this.#root);
  }

  #findAnchors(value: Json): void {
    if (isRecord(value))
      for (const name of ["$anchor", "$dynamicAnchor"]) {
        const anchor = value[name];
        if (typeof anchor === "string") this.#anchors.set(anchor, value as JsonObject); // a record of a JSON value is a JSON object
      }
    for (const inner of partsOf(value)) this.#findAnchors(inner);
  }

  #lookAtKeywords(node: JsonObject): void {
    const id = node[this.#idName];
    if (typeof id === "string" && (node !== this.#root || /^file:/i.test(id))) {
      this.#refuse(
        `\`${this.#idName}\` ${visible(id)} is not supported: only the whole schema may have one, and not a \`file:\`.`,
      );
    }
    for (const name of ["$ref", "$dynamicRef", "$recursiveRef"]) {
      const to = node[name];
      if (typeof to === "string" && !to.startsWith("#"))
        this.#refuse(`\`${name}\` ${visible(to)} points out of it; only references within the schema are followed.`);
      if (typeof to === "string" && name !== "$ref") this.slow = true;
    }
    this.#lookAtPatterns(node);
    const { uniqueItems, maxItems } = node;
    if (uniqueItems === true && !(typeof maxItems === "number" && maxItems <= schemaLimits.inProcessUniqueItems))
      this.slow = true;
  }

  #lookAtPatterns({ pattern, patternProperties }: JsonObject): void {
    const patterns = [pattern, ...(isRecord(patternProperties) ? Object.keys(patternProperties) : [])];
    for (const one of patterns.filter((given) => typeof given === "string")) {
      this.slow = true;
      if (unicodePattern(one) === undefined) this.#refuse(`its pattern ${visible(one)} is not a regular expression.`);
    }
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
    if (isRecord(value)) this.#lookAtKeywords(value as JsonObject); // a record of a JSON value is a JSON object
    this.#open.add(value);
    const to = isRecord(value) ? value["$ref"] : undefined;
    let weight = 1 + (typeof to === "string" ? this.#weigh(this.#target(to)) : 0);
    for (const inner of partsOf(value)) weight += this.#weigh(inner);
    this.#open.delete(value);
    this.#weights.set(value, weight);
    return weight;
  }

  #target(reference: string): Json {
    const fragment = unescaped(reference.slice(1));
    if (fragment !== "" && !fragment.startsWith("/"))
      return this.#anchors.get(fragment) ?? this.#refuse(`\`$ref\` ${visible(reference)} names no anchor of it.`);
    return pointedTo(reference, this.#root) ?? this.#refuse(`\`$ref\` ${visible(reference)} points to nothing.`);
  }
}

/** What a part of a schema holds that may be a schema; names of properties are no keywords. */
function partsOf(value: Json): readonly Json[] {
  if (!isRecord(value)) return Array.isArray(value) ? value : [];
  return Object.entries(value as JsonObject).flatMap(([name, inner]): readonly Json[] => {
    if (isData(name)) return [];
    return mapKeywords.has(name) && isRecord(inner) ? Object.values(inner as JsonObject) : [inner];
  });
}
