/** Values on their way between JSON and Monty, the same as the prelude of full Python makes them. */
import { isJsonObject, type Json } from "../../../../calls/json.ts";

export const resultType = 1_000_000n;

/** What a script hands a tool cannot leave it, and why. */
export class CannotLeave extends Error {
  readonly type: "TypeError" | "ValueError";

  constructor(type: "TypeError" | "ValueError", message: string) {
    super(message);
    this.type = type;
  }
}

/** Monty gave text for a value that is none: the next engine has the value. */
export class OnlyItsText extends Error {
  override readonly name = "TypeError";

  constructor(text: string) {
    super(`\`${text.slice(0, 60)}\` cannot leave the script`);
  }
}

/** What Monty says in place of a value that has no form outside it. A script's own text that is just so goes to the next engine too. */
const inPlaceOfValue =
  /^(?:<function .{1,80} at 0x[0-9a-f]+>|<coroutine object .{1,80}>|<module '.{1,80}'>|<iterator>|(?:range|slice)\([\w, -]*\)|(?:dict_(?:keys|values|items)|re\.compile)\([\s\S]*\)|\[\.\.\.\]|\{\.\.\.\})$/;

const deepest = 200;

/** Maps, so that no key of a stranger is a property. */
export function toMonty(value: Json | undefined): unknown {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map((inner: Json) => toMonty(inner));
  if (isJsonObject(value)) return new Map(Object.entries(value).map(([key, inner]) => [key, toMonty(inner)]));
  return value;
}

/** What a script reads a result by: only what is there, because Monty has no way to say that a field is nothing. */
export function handleOf(value: Json): unknown {
  const given = isJsonObject(value) ? value : { text: value === null ? "" : String(value) };
  const fields: Record<string, unknown> = { text: given["text"] ?? "" };
  if ((given["structured"] ?? null) !== null) fields["structured"] = toMonty(given["structured"]);
  if ((given["ref"] ?? null) !== null) fields["ref"] = given["ref"];
  fields["files"] = toMonty(given["files"] ?? []);
  fields["status"] = given["status"] ?? "ok";
  return dataclass("ToolResult", resultType, fields);
}

export function dataclass(name: string, typeId: bigint, fields: Readonly<Record<string, unknown>>): object {
  return { __monty_type__: "Dataclass", name, typeId, fieldNames: Object.keys(fields), fields, frozen: true };
}

export interface Dataclass {
  readonly typeId: bigint;
  readonly fields: Readonly<Record<string, unknown>>;
}

export function asDataclass(value: unknown): Dataclass | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "__monty_type__")) return undefined;
  const { typeId, fields } = value as Partial<Dataclass>; // the binding's own form; both fields are checked
  return typeof typeId === "bigint" && typeof fields === "object" && fields !== null ? { typeId, fields } : undefined;
}

/** @param isStrict for a tool: refused rather than guessed at. @throws CannotLeave, OnlyItsText */
export function fromMonty(value: unknown, isStrict: boolean, depth = 0): Json {
  if (typeof value === "string") {
    if (inPlaceOfValue.test(value)) throw new OnlyItsText(value);
    return value;
  }
  if (value === null || value === undefined || typeof value === "boolean") return value ?? null;
  if (depth > deepest)
    throw new CannotLeave("ValueError", `a value nested deeper than ${deepest} levels cannot leave the script`);
  if (typeof value === "number") return fraction(value, isStrict);
  if (typeof value === "bigint") return whole(value, isStrict);
  if (Array.isArray(value)) return value.map((inner) => fromMonty(inner, isStrict, depth + 1));
  if (value instanceof Map) return members(value, isStrict, depth);
  if (value instanceof Set) return inOrder([...value].map((inner) => fromMonty(inner, isStrict, depth + 1)));
  const found = asDataclass(value);
  if (found?.typeId === resultType) return result(found.fields, isStrict, depth);
  if (isStrict)
    throw new CannotLeave(
      "TypeError",
      "a tool cannot be handed such a value: pass text, numbers, lists, dictionaries or a result",
    );
  if (value instanceof Uint8Array) return bytesAsPython(value);
  throw new CannotLeave("TypeError", "the value has no form outside Monty");
}

function result(fields: Readonly<Record<string, unknown>>, isStrict: boolean, depth: number): Json {
  const { text, ref } = fields;
  if (isStrict) return typeof ref === "string" ? { $artifact: ref } : String(text);
  const names = ["text", "structured", "ref", "files", "status"];
  return Object.fromEntries(names.map((name) => [name, fromMonty(fields[name] ?? null, false, depth + 1)]));
}

function members(map: ReadonlyMap<unknown, unknown>, isStrict: boolean, depth: number): Json {
  const entries = [...map].map(
    ([key, inner]) => [keyOf(key, isStrict), fromMonty(inner, isStrict, depth + 1)] as const,
  );
  return Object.fromEntries(entries);
}

function keyOf(key: unknown, isStrict: boolean): string {
  if (typeof key === "string") return key;
  if (key === null || typeof key === "boolean" || typeof key === "number") return JSON.stringify(key);
  if (typeof key === "bigint") return String(key);
  if (isStrict) throw new CannotLeave("TypeError", "such a key cannot be handed to a tool: use text");
  throw new CannotLeave("TypeError", "the key has no form outside Monty");
}

function fraction(value: number, isStrict: boolean): Json {
  if (Number.isFinite(value)) return value;
  const text = Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (isStrict) throw new CannotLeave("ValueError", `\`${text}\` is no JSON number: a tool cannot be handed it`);
  return text;
}

function whole(value: bigint, isStrict: boolean): Json {
  const size = value < 0n ? -value : value;
  if (size <= 2n ** 53n) return Number(value);
  if (isStrict)
    throw new CannotLeave("ValueError", "an integer beyond 2**53 cannot be handed to a tool exactly: pass it as text");
  const bits = size.toString(2).length;
  return bits > 13_000 ? `an integer of ${bits} bits` : String(value);
}

/** By kind, then by value: what a set's order is, is nobody's promise. */
function inOrder(values: readonly Json[]): Json {
  return [...values].sort((one, other) => order(kindOf(one), kindOf(other)) || order(one, other));
}

function order(one: Json, other: Json): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const [first, second] = [one, other].map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return (first ?? "") < (second ?? "") ? -1 : first === second ? 0 : 1;
}

function kindOf(value: Json): string {
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "str";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return Array.isArray(value) ? "list" : "dict";
}

function bytesAsPython(bytes: Uint8Array): string {
  const marks: ReadonlyMap<number, string> = new Map([
    [9, "\\t"],
    [10, "\\n"],
    [13, "\\r"],
    [92, "\\\\"],
  ]);
  const text = [...bytes]
    .map(
      (byte) =>
        marks.get(byte) ??
        (byte < 32 || byte > 126 ? `\\x${byte.toString(16).padStart(2, "0")}` : String.fromCharCode(byte)),
    )
    .join("");
  return text.includes("'") && !text.includes('"') ? `b"${text}"` : `b'${text.replaceAll("'", "\\'")}'`;
}
