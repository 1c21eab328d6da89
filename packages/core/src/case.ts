/**
 * Changes snake_case (files, HTTP) into camelCase (TypeScript) and back. No other file does.
 * Invariant: a name that has no form in the other case (`page_2`, `$.userName`, `A0`) is never changed, so converting
 * there and back gives the same value. Names that a schema defines must convert both ways: `assertConvertible` checks
 * them.
 */
import { RuntimeFault } from "./fault.ts";

export type CamelName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail>>}`
  : Name;

export type SnakeName<Name extends string> = Name extends `${infer First}${string}`
  ? First extends Lowercase<First>
    ? SnakeLetters<Name>
    : Name
  : Name;

type SnakeLetters<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeLetters<Rest>}`
  : Name;

/** The type that `toCamelCase` returns. Inside a field named in `Opaque` (in snake_case) nothing changes. */
export type CamelCased<Value, Opaque extends string = never> = Value extends Atom
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly CamelCased<Item, Opaque>[]
    : {
        readonly [Name in keyof Value as Name extends string ? CamelName<Name> : Name]: Name extends Opaque
          ? Present<Value, Name>
          : CamelCased<Present<Value, Name>, Opaque>;
      };

/** The type that `toSnakeCase` returns. Inside a field named in `Opaque` (in snake_case) nothing changes. */
export type SnakeCased<Value, Opaque extends string = never> = Value extends Atom
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly SnakeCased<Item, Opaque>[]
    : {
        readonly [Name in keyof Value as Name extends string ? SnakeName<Name> : Name]: Name extends string
          ? SnakeName<Name> extends Opaque
            ? Present<Value, Name>
            : SnakeCased<Present<Value, Name>, Opaque>
          : Present<Value, Name>;
      };

type Atom = string | number | boolean | bigint | null | undefined | ((...args: never[]) => unknown);
/** An optional field that is undefined is left out. */
type Present<Value, Name extends keyof Value> =
  Pick<Value, Name> extends Required<Pick<Value, Name>> ? Value[Name] : Exclude<Value[Name], undefined>;

/** Fields whose keys are data. Made by `opaqueFields`; the type parameter only informs `CamelCased` and `SnakeCased`. */
export interface OpaqueFields<Opaque extends string = string> {
  readonly fields: readonly Opaque[];
  /** Paths of names, indexed by their last name. */
  readonly whole: ReadonlyMap<string, readonly (readonly string[])[]>;
  readonly keys: ReadonlyMap<string, readonly (readonly string[])[]>;
}

/**
 * @param fields in snake_case. `arguments`: everything inside this field is data. `servers.*`: the keys of this field
 * are data, but the values under them are converted. Names before a field narrow it (`call.arguments`; `*` is any data
 * key); indexes of lists do not count.
 * @throws RuntimeFault `request_invalid` for a name that does not convert both ways
 */
export function opaqueFields<const Opaque extends string>(fields: readonly Opaque[]): OpaqueFields<Opaque> {
  const whole = new Map<string, (readonly string[])[]>();
  const keys = new Map<string, (readonly string[])[]>();
  for (const field of fields) {
    const isMap = field.endsWith(".*");
    const path = (isMap ? field.slice(0, -2) : field).split(".");
    assertConvertible(path.filter((name, i) => name !== "*" || i === path.length - 1));
    const last = path[path.length - 1] ?? "";
    const index = isMap ? keys : whole;
    index.set(last, [...(index.get(last) ?? []), path]);
  }
  return { fields, whole, keys };
}

/** No field is opaque. */
export const noOpaqueFields: OpaqueFields<never> = opaqueFields([]);

const snakePattern = /^[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)*$/;
const camelPattern = /^[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)*$/;

/**
 * Call it when a schema loads, with the names that the schema defines.
 *
 * @throws RuntimeFault `request_invalid` for a name that is not snake_case or does not convert both ways, such as
 * `page_2`
 */
export function assertConvertible(names: Iterable<string>): void {
  for (const name of names)
    if (!snakePattern.test(name))
      throw new RuntimeFault(
        "request_invalid",
        `\`${name}\` has no camelCase name that leads back to it. Use lower-case words with \`_\` between them, each of which begins with a letter: \`page2\`, not \`page_2\`.`,
      );
}

/** `call_timeout_ms` becomes `callTimeoutMs`. */
export const camelName: (name: string) => string = cached((name) =>
  snakePattern.test(name) ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name,
);

/** `callTimeoutMs` becomes `call_timeout_ms`. */
export const snakeName: (name: string) => string = cached((name) =>
  camelPattern.test(name) ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name,
);

/**
 * Fields that are undefined are left out. Only plain objects and lists are converted; anything else is returned as it is.
 *
 * @throws RuntimeFault `request_invalid` when an object has the same field in both cases
 */
export function toCamelCase<Value, Opaque extends string>(
  value: Value,
  opaque: OpaqueFields<Opaque>,
): CamelCased<Value, Opaque> {
  return convert(value, [], { rename: camelName, opaque }) as CamelCased<Value, Opaque>; // the type repeats what convert does
}

/**
 * Fields that are undefined are left out. Only plain objects and lists are converted; anything else is returned as it is.
 *
 * @throws RuntimeFault `request_invalid` when an object has the same field in both cases
 */
export function toSnakeCase<Value, Opaque extends string>(
  value: Value,
  opaque: OpaqueFields<Opaque>,
): SnakeCased<Value, Opaque> {
  return convert(value, [], { rename: snakeName, opaque }) as SnakeCased<Value, Opaque>; // the type repeats what convert does
}

interface Conversion {
  readonly rename: (name: string) => string;
  readonly opaque: OpaqueFields;
}

/** @param path names in snake_case; it is restored before this returns */
function convert(value: unknown, path: string[], conversion: Conversion): unknown {
  if (Array.isArray(value)) return value.map((item) => convert(item, path, conversion));
  if (!isPlainObject(value)) return value;
  const { rename, opaque } = conversion;
  const keysAreData = matches(opaque.keys, path);
  const converted: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (inner === undefined) continue;
    const name = keysAreData ? key : rename(key);
    if (Object.hasOwn(converted, name))
      throw new RuntimeFault("request_invalid", `\`${key}\` and another field both mean \`${name}\`; keep one.`);
    if (typeof inner !== "object" || inner === null) setOwn(converted, name, inner);
    else {
      path.push(keysAreData ? key : snakeName(key));
      setOwn(converted, name, matches(opaque.whole, path) ? inner : convert(inner, path, conversion));
      path.pop();
    }
  }
  return converted;
}

function matches(index: OpaqueFields["whole"], path: readonly string[]): boolean {
  const fields = index.get(path[path.length - 1] ?? "");
  if (fields === undefined) return false;
  return fields.some((names) => {
    const start = path.length - names.length;
    return start >= 0 && names.every((name, i) => name === "*" || name === path[start + i]);
  });
}

/** `__proto__` from parsed JSON is a key like any other; assigning it would change the prototype. */
function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === "__proto__")
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else object[name] = value;
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A caller can send any name, so the number of remembered names is bounded. */
const maxCachedNames = 4096;

function cached(change: (name: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const changed = change(name);
    if (known.size < maxCachedNames && name.length <= 64) known.set(name, changed);
    return changed;
  };
}
