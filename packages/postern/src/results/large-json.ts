import { defined, isJsonObject, type Json, type JsonObject, referenceKey } from "@postern/core";
import { cut } from "./cut.ts";
import { describe } from "./describe.ts";

/** Facts about a JSON value whose text is kept as an artifact. */
export interface JsonFacts {
  /** The value's outermost shape. */
  readonly outline: JsonObject;
  /** One line. */
  readonly description: string;
  /** Name of the first member, when the value is an object that has one. */
  readonly firstName?: string;
}

export function factsOf(value: Json): JsonFacts {
  const [firstName] = isJsonObject(value) ? Object.keys(value) : [];
  return { outline: outlineOf(value), description: describe(value), ...defined({ firstName }) };
}

/** A JSON value that a worker thread has parsed, as text. Only code that needs all of it reads `value`. */
export class LargeJson {
  /** As `JSON.stringify` writes it, without lone surrogates and NUL. */
  readonly text: string;
  readonly facts: JsonFacts;
  /** Whether the text beside it has the same content, so that it is kept once. */
  readonly isRepeated: boolean;

  constructor({ text, facts, isRepeated }: Pick<LargeJson, "text" | "facts" | "isRepeated">) {
    this.text = text;
    this.facts = facts;
    this.isRepeated = isRepeated;
  }

  /** Parses the whole text on the calling thread. */
  get value(): Json {
    return JSON.parse(this.text) as Json; // `JSON.stringify` wrote it
  }
}

const mostKeys = 20;
const mostKeyBytes = 40;

/** Replaces structured content that is kept as an artifact: its reference, its size and its outermost shape. */
export function summaryOf(outline: JsonObject, digest: string, bytes: number): JsonObject {
  return { [referenceKey]: digest, bytes, ...outline };
}

/** `keys` are the first keys of an object; `length` counts the keys of an object, the elements of an array or the characters of a text. */
function outlineOf(value: Json): JsonObject {
  if (Array.isArray(value) || typeof value === "string") return { length: value.length };
  if (!isJsonObject(value)) return {};
  const names = Object.keys(value);
  const keys = names.slice(0, mostKeys).map((name) => cut(name, mostKeyBytes));
  return { keys, length: names.length };
}
