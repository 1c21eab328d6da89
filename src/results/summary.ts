import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { referenceKey } from "./artifact-store.ts";
import { cut } from "./cut.ts";

const mostKeys = 20;
const mostKeyBytes = 40;

/** What stays of structured content that is kept by reference (C22): where it is, how big, and its outermost shape. */
export function summaryOf(outline: JsonObject, digest: string, bytes: number): JsonObject {
  return { [referenceKey]: digest, bytes, ...outline };
}

/** `keys` are an object's first ones; `length` counts its keys, an array's elements or a text's characters. */
export function outlineOf(value: Json): JsonObject {
  if (Array.isArray(value) || typeof value === "string") return { length: value.length };
  if (!isJsonObject(value)) return {};
  const names = Object.keys(value);
  const keys = names.slice(0, mostKeys).map((name) => cut(name, mostKeyBytes));
  return { keys, length: names.length };
}
