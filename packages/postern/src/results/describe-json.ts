import { counted, isJsonObject, type Json, type JsonObject } from "@postern/core";
import { cut } from "./cut.ts";

const mostNamed = 12;
const nameBytes = 40;
/** A value with at most this many characters is its own description. */
const fewCharacters = 160;
/** A longer text is not parsed to find out whether it is JSON. */
const mostParsed = 1024 * 1024;
const mostRowsSeen = 50;

/** The value of a text that is a JSON object or array which is not empty. */
export function parsedJson(text: string): Json | undefined {
  if (text.length > mostParsed || !/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json; // JSON.parse makes nothing but JSON
  } catch {
    return undefined; // it only begins like JSON
  }
}

/** Rows that are objects with nearly the same keys, or arrays of one length. */
export interface TableRows {
  readonly columns: readonly string[];
  readonly rows: number;
}

export function isTable(value: Json): value is readonly JsonObject[] {
  return Array.isArray(value) && columnsOf(value) !== undefined;
}

/** The columns of similar objects. Returns undefined when they are not similar, or fewer than two. */
export function columnsOf(rows: readonly Json[]): readonly string[] | undefined {
  if (rows.length < 2) return undefined;
  const seen = rows.length <= mostRowsSeen ? rows : [...rows.slice(0, mostRowsSeen - 1), rows.at(-1) ?? null];
  const columns = new Set<string>();
  for (const row of seen) {
    if (!isJsonObject(row)) return undefined;
    for (const name of Object.keys(row)) columns.add(name);
  }
  if (columns.size === 0) return undefined;
  const alike = seen.every((row) => isJsonObject(row) && Object.keys(row).length * 2 >= columns.size);
  return alike ? [...columns] : undefined;
}

/** The value itself when it is small, else its shape two levels deep. */
export function describeJson(value: Json): string {
  return isSmall(value) ? JSON.stringify(value) : shapeOf(value, 2);
}

function shapeOf(value: Json, levels: number): string {
  if (typeof value === "string") {
    return value.length <= nameBytes ? JSON.stringify(value) : `text of ${value.length} characters`;
  }
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return arrayShape(value, levels);
  const names = Object.keys(value);
  const kind = `object of ${counted(names.length, "key")}`;
  if (names.length === 0 || levels === 0) return kind;
  return `${kind}: ${listed(names, (name) => `${cut(name, nameBytes)}: ${memberShape(value, name, levels)}`)}`;
}

function memberShape(value: Json, name: string, levels: number): string {
  const inner: Json = isJsonObject(value) ? (value[name] ?? null) : null;
  const shape = shapeOf(inner, levels - 1);
  return levels > 1 && shape.includes(", ") ? `(${shape})` : shape;
}

function arrayShape(values: readonly Json[], levels: number): string {
  const [first] = values;
  if (first === undefined) return "empty array";
  const columns = columnsOf(values);
  if (columns !== undefined)
    return `table of ${counted(values.length, "row")} and ${counted(columns.length, "column")}`;
  const kinds = new Set(values.slice(0, mostRowsSeen).map(kindOf));
  const [kind = "value"] = kinds;
  if (kinds.size > 1) return `array of ${counted(values.length, "value")}`;
  const several = `array of ${counted(values.length, kind)}`;
  return kind === "object" && levels > 0 ? `${several}, the first an ${shapeOf(first, levels - 1)}` : several;
}

function kindOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "string" ? "text" : typeof value;
}

export function listed(names: readonly string[], format: (name: string) => string): string {
  const more = names.length > mostNamed ? `, and ${names.length - mostNamed} more` : "";
  return `${names.slice(0, mostNamed).map(format).join(", ")}${more}`;
}

/** Counts characters while it walks, so that it stops early in a huge value. */
function isSmall(value: Json): boolean {
  let left = fewCharacters;
  const take = (inner: Json, levels: number): boolean => {
    left -= typeof inner === "string" ? inner.length + 3 : 5;
    if (left < 0 || levels < 0) return false;
    if (typeof inner !== "object" || inner === null) return true;
    if (Array.isArray(inner)) return inner.every((one: Json) => take(one, levels - 1));
    for (const name in inner) if (Object.hasOwn(inner, name) && !member(inner, name, levels)) return false;
    return true;
  };
  const member = (object: Json, name: string, levels: number): boolean => {
    left -= name.length + 4;
    return left >= 0 && isJsonObject(object) && take(object[name] ?? null, levels - 1);
  };
  return take(value, 8);
}
