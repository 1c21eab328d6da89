/** Checks values that application code passes in. The fault names the member and its value. */
import { type FaultCode, RuntimeFault } from "./fault.ts";
import { shown } from "./shown.ts";

type MemberText =
  | "a text"
  | "a number"
  | "a whole number from 0"
  | "true or false"
  | "a function"
  | "an object"
  | "a text or an object"
  | "a text or a list of texts"
  | "a list of texts"
  | "a list of objects"
  | "an id or a list of ids";
/** The kind of value that a member must have. A list: one of these words. */
export type Kind = MemberText | readonly string[];

const isText = (value: unknown): boolean => typeof value === "string";
const fits: Readonly<Record<MemberText, (value: unknown) => boolean>> = {
  "a text": isText,
  "a number": (value) => typeof value === "number" && !Number.isNaN(value),
  "a whole number from 0": (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  "true or false": (value) => typeof value === "boolean",
  "a function": (value) => typeof value === "function",
  "an object": isObject,
  "a text or an object": (value) => isText(value) || isObject(value),
  "a text or a list of texts": (value) => [value].flat().every(isText),
  "a list of texts": (value) => Array.isArray(value) && value.every(isText),
  "a list of objects": (value) => Array.isArray(value) && value.every(isObject),
  "an id or a list of ids": (value) => [value].flat().every(isText),
};

export interface Expected {
  readonly code: FaultCode;
  /** The beginning of the sentence: `The filter`. */
  readonly what: string;
  readonly members: Readonly<Record<string, Kind>>;
  readonly needed?: readonly string[];
  /** For a filter: what it selects from. Other members are then refused, because an unknown member must not select everything. */
  readonly of?: string;
}

/** @throws RuntimeFault with this code, that names the member and the value */
export function checkMembers(given: unknown, { code, what, members, needed = [], of }: Expected): void {
  if (!isObject(given)) throw new RuntimeFault(code, `${what} is ${shown(given)}; it must be an object.`);
  const stranger = of === undefined ? undefined : Object.keys(given).find((name) => !Object.hasOwn(members, name));
  if (stranger !== undefined)
    throw new RuntimeFault(
      code,
      `\`${stranger}\` is not a filter of ${of}; there are ${Object.keys(members).join(", ")}.`,
    );
  for (const [name, kind] of Object.entries(members))
    if (given[name] !== undefined || needed.includes(name)) checkMember(name, given[name], kind, code);
}

/** @throws RuntimeFault with this code, that names the member and the value */
export function checkMember(name: string, value: unknown, kind: Kind, code: FaultCode): void {
  if (!isOfKind(value, kind))
    throw new RuntimeFault(code, `\`${name}\` is ${shown(value)}; it must be ${wordsOf(kind)}.`);
}

function isOfKind(value: unknown, kind: Kind): boolean {
  return typeof kind === "string" ? fits[kind](value) : kind.some((word) => word === value);
}

function wordsOf(kind: Kind): string {
  return typeof kind === "string" ? kind : `one of ${kind.join(", ")}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The usual value and the largest one of each limit. */
export type LimitTable<Name extends string> = Readonly<Record<Name, { readonly usual: number; readonly most: number }>>;

/** @throws RuntimeFault with this code that names the limit */
export function checkedLimits<Name extends string>(
  options: Partial<Readonly<Record<Name, number | undefined>>>,
  table: LimitTable<Name>,
  code: FaultCode,
): Readonly<Record<Name, number>> {
  const limits = Object.entries<LimitTable<Name>[Name]>(table).map(([name, { usual, most }]) => {
    const limit = options[name as Name] ?? usual; // a name of the table
    if (Number.isSafeInteger(limit) && limit >= 1 && limit <= most) return [name, limit];
    throw new RuntimeFault(code, `\`${name}\` is \`${String(limit)}\`; it is a whole number from 1 to ${most}.`);
  });
  return Object.fromEntries(limits) as Readonly<Record<Name, number>>; // the names of the table
}

/** @throws RuntimeFault `request_invalid` */
export function checkId(id: unknown, of: "alarm" | "call" | "approval" | "grant" | "skill"): void {
  if (typeof id !== "string")
    throw new RuntimeFault("request_invalid", `The id of the ${of} is ${shown(id)}; it must be a text.`);
}
