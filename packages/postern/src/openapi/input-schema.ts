import { isData, isJsonObject, type Json, type JsonObject, mapKeywords, unescaped } from "@postern/core";
import { schemaLimits } from "../tools/schema/preflight.ts";
import { type ApiDocument, Unusable } from "./document.ts";

/** Keywords of OpenAPI that say nothing about a value. */
const dropped: ReadonlySet<string> = new Set(["discriminator", "xml", "externalDocs", "example"]);
const octets = "application/octet-stream";

/** One member of a tool's arguments. */
export interface InputMember {
  readonly name: string;
  readonly schema: Json;
  readonly description?: string | undefined;
  readonly required: boolean;
}

/**
 * The schema of a tool's arguments. Each schema of the document that it refers to is copied once, into `$defs`, so a recursive
 * schema stays recursive and does not grow.
 *
 * @throws Unusable if it is larger than a schema may be
 */
export function inputSchema(document: ApiDocument, members: readonly InputMember[]): JsonObject {
  const copier = new SchemaCopier(document);
  const properties = members.map(({ name, schema, description }): [string, Json] => {
    const copy = copier.copy(schema);
    if (description === undefined) return [name, copy];
    return [name, isJsonObject(copy) ? { ...copy, description } : { description }];
  });
  const required = members.filter((one) => one.required).map(({ name }) => name);
  const $defs = copier.definitions();
  const made = {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...(Object.keys($defs).length > 0 && { $defs }),
  };
  if (JSON.stringify(made).length > schemaLimits.maxBytes) throw tooLarge();
  return made;
}

function tooLarge(): Unusable {
  return new Unusable(
    `The schema of its arguments is larger than ${schemaLimits.maxBytes} bytes, the most that is taken.`,
  );
}

class SchemaCopier {
  readonly #document: ApiDocument;
  /** Names in `$defs` by reference. */
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #open: { readonly name: string; readonly reference: string }[] = [];
  #parts = 0;

  constructor(document: ApiDocument) {
    this.#document = document;
  }

  copy(schema: Json): Json {
    this.#parts += 1;
    if (this.#parts > schemaLimits.maxBytes) throw tooLarge(); // each part has a byte at least
    if (Array.isArray(schema)) return schema.map((one: Json) => this.copy(one));
    return isJsonObject(schema) ? this.#object(schema) : schema;
  }

  /** Copies what was referred to, and what that refers to. A list, not a recursion: a chain of references may be long. */
  definitions(): JsonObject {
    const made: [string, Json][] = [];
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop())
      made.push([next.name, this.copy(this.#document.pointedTo(next.reference))]);
    return Object.fromEntries(made);
  }

  #object(schema: JsonObject): JsonObject {
    const copied = Object.entries(schema).flatMap(([keyword, value]): [string, Json][] => {
      if (dropped.has(keyword) || keyword.startsWith("x-")) return [];
      if (keyword === "$ref") return [[keyword, `#/$defs/${this.#nameOf(value)}`]];
      if (isData(keyword)) return [[keyword, value]];
      if (keyword === "required" && Array.isArray(value)) return [[keyword, withoutAnswered(value, schema)]];
      if (!mapKeywords.has(keyword) || !isJsonObject(value)) return [[keyword, this.copy(value)]];
      const named = Object.entries(value).filter(([, one]) => keyword !== "properties" || !isOnlyAnswered(one));
      return [[keyword, Object.fromEntries(named.map(([name, one]) => [name, this.copy(one)]))]];
    });
    return withBytes(Object.fromEntries(copied));
  }

  #nameOf(reference: Json): string {
    this.#document.pointedTo(reference);
    const key = reference as string; // checked by `pointedTo`
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const last = unescaped(key.slice(key.lastIndexOf("/") + 1)).replaceAll(/[^A-Za-z0-9_-]+/g, "_");
    let name = last.slice(0, 64) || "schema";
    for (let number = 2; this.#taken.has(name); number += 1) name = `${last.slice(0, 60)}_${number}`;
    this.#taken.add(name);
    this.#names.set(key, name);
    this.#open.push({ name, reference: key });
    return name;
  }
}

/** The API states such a member in its answers, and a request does not have it. */
function isOnlyAnswered(schema: Json): boolean {
  return isJsonObject(schema) && schema["readOnly"] === true;
}

function withoutAnswered(required: readonly Json[], { properties }: JsonObject): Json {
  if (!isJsonObject(properties)) return required;
  return required.filter(
    (name) => typeof name !== "string" || !Object.hasOwn(properties, name) || !isOnlyAnswered(properties[name] ?? null),
  );
}

/** Bytes are base64 in JSON. With this keyword an argument may be an artifact, too. */
function withBytes(schema: JsonObject): JsonObject {
  const { contentMediaType, contentEncoding, type = "string", format } = schema;
  const isBinary = (contentMediaType === octets && contentEncoding === undefined) || format === "binary";
  if (type !== "string" || !isBinary) return schema;
  const { contentMediaType: _type, format: _format, ...rest } = schema;
  return { ...rest, type: "string", contentEncoding: "base64" };
}

/** Whether a value of this schema is bytes. */
export function isBytes(document: ApiDocument, schema: Json | undefined): boolean {
  const found = document.object(schema ?? {}, "A schema");
  return withBytes(found)["contentEncoding"] === "base64";
}
