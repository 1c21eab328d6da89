/**
 * The contents of a form of arguments. Invariant: the form returns for each field what the field shows, or it has a
 * problem and returns nothing; also when the arguments under the form change meanwhile.
 */
import type { JsonObject } from "@postern/core";
import { canonical } from "./canonical.ts";
import { type Read, readJson, readNumber, readObject } from "./json-text.ts";

export type Fields = Readonly<Record<string, unknown>>;
export type WrittenAs = "text" | "number" | "integer" | "json";

/** A field and the text that was typed into it. */
export interface Written {
  readonly text: string;
  readonly as: WrittenAs;
  readonly problem?: string;
}

export interface Entered {
  readonly values: Fields;
  readonly written: ReadonlyMap<string, Written>;
  /** The JSON text, while the form is edited as JSON. */
  readonly json?: string;
}

const nothing: ReadonlyMap<string, Written> = new Map();

export function enteredOf(values: Fields): Entered {
  return { values, written: nothing };
}

export function readEntered({ values, written, json }: Entered): Read<JsonObject> {
  if (json !== undefined) return readObject(json);
  for (const [name, { problem }] of written) if (problem !== undefined) return { problem: `${name}: ${problem}` };
  return { value: values as JsonObject }; // read from JSON, or from the controls of a form
}

/** Text typed into a field. While it is wrong, the old value stays and the form has a problem. */
export function withText(entered: Entered, name: string, { text, as }: Written): Entered {
  const read = as === "text" ? { value: text } : as === "json" ? readJson(text) : readNumber(text, as === "integer");
  const isWrong = "problem" in read;
  const one = { text, as, ...(isWrong && read) };
  return {
    values: isWrong ? entered.values : withMember(entered.values, name, read.value),
    written: new Map([...entered.written, [name, one]]),
  };
}

/** A value that was chosen. Undefined leaves it out. */
export function withValue({ values, written }: Entered, name: string, value: unknown): Entered {
  return {
    values: withMember(values, name, value),
    written: new Map([...written].filter(([other]) => other !== name)),
  };
}

/** The same as JSON text or as a form. Undefined when it has a problem, which the other view would hide. */
export function switched(before: Entered, how: "form" | "json"): Entered | undefined {
  const read = readEntered(before);
  if ("problem" in read) return undefined;
  if ((how === "json") === (before.json !== undefined)) return before;
  return how === "form" ? enteredOf(read.value) : { ...enteredOf(read.value), json: inLines(read.value) };
}

/** What was entered over `from`, moved over `to`: fields that were not changed take the values of `to`. */
export function rebased(before: Entered, from: Fields, to: Fields): Entered {
  if (before.json !== undefined) {
    const read = readObject(before.json);
    if ("problem" in read) return before; // not valid JSON yet
    return { ...before, json: inLines(merged(read.value, from, to, () => false)) };
  }
  const isWrong = (name: string): boolean => before.written.get(name)?.problem !== undefined;
  const isTyped = (name: string): boolean => isWrong(name) || !isSame(own(before.values, name), own(from, name));
  return {
    values: merged(before.values, from, to, isWrong),
    written: new Map([...before.written].filter(([name]) => isTyped(name))),
  };
}

function merged(values: Fields, from: Fields, to: Fields, isKept: (name: string) => boolean): Fields {
  const names = [...new Set([...Object.keys(to), ...Object.keys(values)])];
  const next = names.map((name) => {
    const isTyped = isKept(name) || !isSame(own(values, name), own(from, name));
    return [name, own(isTyped ? values : to, name)] as const;
  });
  return Object.fromEntries(next.filter(([, item]) => item !== undefined));
}

/** Only an own property: `constructor` may be the name of an argument. */
export function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** An unchanged value is the same object, so long values are not compared at every key press. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  return one !== undefined && other !== undefined && canonical(one) === canonical(other);
}

function withMember(fields: Fields, name: string, value: unknown): Fields {
  if (value !== undefined) return { ...fields, [name]: value };
  const { [name]: _, ...rest } = fields;
  return rest;
}

function inLines(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
