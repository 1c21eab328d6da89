/** Anything that can be written as JSON. Never `undefined`, a function, a bigint or a cycle. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** Deeper nesting is refused, because every walk over an untrusted value is recursive. */
export const maxDepth = 100;

/**
 * RFC 8785 text of a value. `JSON.stringify` writes exactly that when the keys are in order, so the order is checked
 * first and only other values are sorted.
 *
 * @param look is called with a value that may hold more than JSON; it may throw, otherwise the rest is left out as
 * `JSON.stringify` does
 * @throws RangeError when the value is nested deeper than `maxDepth` or has a cycle; TypeError when it is not JSON or
 * holds a lone surrogate.
 */
export function canonical(value: Json, look?: (value: unknown) => void): string {
  const isOrdered = inOrder(value, 0);
  if (!isOrdered) look?.(value);
  const text = isOrdered || typeof value !== "object" ? JSON.stringify(value) : sorted(value, 0);
  if (text === undefined) throw new TypeError(`A ${typeof value} is not JSON.`);
  // Only a lone surrogate is written as \ud…; the same characters typed as text have their backslash doubled.
  if (text.includes("\\ud") && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text)) {
    throw new TypeError("The text holds half of a surrogate pair.");
  }
  return text;
}

/**
 * Freezes a tree of plain objects and lists in place. Only for values of this process: a value that a caller or a tool
 * still holds must be copied first.
 */
export function deepFrozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) freeze(value);
  return value;
}

function freeze(tree: object): void {
  if (Array.isArray(tree)) {
    for (const inner of tree as readonly unknown[]) if (typeof inner === "object" && inner !== null) freeze(inner);
  } else if (isPlain(tree)) {
    for (const name in tree) {
      const inner = (tree as Readonly<Record<string, unknown>>)[name];
      if (typeof inner === "object" && inner !== null) freeze(inner);
    }
  } else return; // bytes or an error: not a tree
  Object.freeze(tree);
}

/** A copy of JSON that its receiver may change. */
export function copyOf<T extends Json>(value: T): T {
  return (typeof value === "object" && value !== null ? copied(value) : value) as T;
}

/** A spread copies fastest; then only nested values are copied again. */
function copied(value: JsonObject | readonly Json[]): Json {
  if (Array.isArray(value))
    return value.map((inner: Json) => (typeof inner === "object" && inner !== null ? copied(inner) : inner));
  const copy: Record<string, Json> = { ...(value as JsonObject) };
  for (const name in copy) {
    const inner = copy[name];
    if (typeof inner === "object" && inner !== null) copy[name] = copied(inner);
  }
  return copy;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** As `isJsonObject`, for a value whose members may be anything. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is only JSON with its names in order. An undefined member counts as absent. */
function inOrder(value: Json | undefined, depth: number): boolean {
  if (typeof value === "string" || value === null || value === undefined) return true;
  if (typeof value !== "object") return isScalar(value);
  if (depth > maxDepth) throw new RangeError(`Nested deeper than ${maxDepth} levels.`);
  if (Array.isArray(value)) {
    for (const inner of value as readonly (Json | undefined)[])
      if (inner === undefined || !inOrder(inner, depth + 1)) return false;
    return true;
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === "function" || !isPlain(value)) return false;
  let last: string | undefined;
  for (const name in value as JsonObject) {
    if ((last !== undefined && name < last) || name === "__proto__") return false;
    if (!inOrder((value as JsonObject)[name] as Json, depth + 1)) return false;
    last = name;
  }
  return true;
}

/** Returns false for a value that `JSON.stringify` throws at, leaves out or writes as null. */
export function isScalar(value: unknown): boolean {
  return typeof value === "number" ? Number.isFinite(value) : typeof value === "boolean" || typeof value === "string";
}

/** Whether it is an object of no class. JSON does not show the content of a Map, a Date or another class. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null; // also from another realm
}

function sorted(value: Json, depth: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (depth > maxDepth) throw new RangeError(`Nested deeper than ${maxDepth} levels.`);
  if (Array.isArray(value)) return `[${Array.from(value, (inner: Json) => sorted(inner, depth + 1)).join()}]`;
  const own = (value as { toJSON?: unknown }).toJSON; // a Date and similar objects define their own JSON
  if (typeof own === "function") return sorted(JSON.parse(JSON.stringify(value)) as Json, depth);
  const object = value as JsonObject; // neither null nor an array
  const fields: string[] = [];
  for (const name of Object.keys(object).sort()) {
    const inner = object[name];
    if (inner !== undefined && typeof inner !== "function" && typeof inner !== "symbol")
      fields.push(`${JSON.stringify(name)}:${sorted(inner, depth + 1)}`);
  }
  return `{${fields.join()}}`;
}

/** The same fields, but a field that may be undefined is optional instead. */
export type Defined<Fields> = {
  readonly [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  readonly [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** Leaves out the fields that are undefined. Too slow for the path of a call, because it makes a list of the fields. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>; // the same fields without the undefined ones
}
