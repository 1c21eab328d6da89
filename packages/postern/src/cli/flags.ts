/** The flags of a command, made from the fields of its route: their names, their help and what they accept. */

import { fromText, type Input } from "@postern/core/contract";
import { type Command, Option } from "commander";
import type { z } from "zod";
import { objectOf } from "./commands/arguments.ts";
import { UsageProblem } from "./usage-problem.ts";

/** What the schema of a field does not say about its flag. */
interface FlagNote {
  /** Default: the field's name, with dashes. */
  readonly name?: string;
  /** What the help calls the value. */
  readonly value?: string;
  /** Default: the description of the field. */
  readonly help?: string;
  readonly default?: string;
  /** `all` is typed to mean every value; a list shows some of them by default. */
  readonly all?: true;
  /** Default: as in an address. */
  readonly read?: (typed: string, flag: string) => unknown;
}

/** `none`: the field has no flag. `page`: it has no flag, and a list sets it for its next page. */
type FlagNotes<S extends z.ZodObject> = { readonly [Field in keyof Input<S>]?: FlagNote | "none" | "page" };

type Value<S extends z.ZodObject, N, Field extends keyof Input<S>> = Field extends keyof N
  ? N[Field] extends { readonly read: (...typed: never[]) => infer Read }
    ? Read
    : Exclude<Input<S>[Field], undefined> | (N[Field] extends { readonly all: true } ? "all" : never)
  : Exclude<Input<S>[Field], undefined>;
type Without<N> = { [Field in keyof N]: N[Field] extends "none" ? Field : never }[keyof N];
type WithDefault<N> = { [Field in keyof N]: N[Field] extends { readonly default: string } ? Field : never }[keyof N];

/** What was typed, by the names of the fields. */
export type FlagValues<S extends z.ZodObject, N> = {
  readonly [Field in Extract<keyof Input<S>, WithDefault<N>>]: Value<S, N, Field>;
} & {
  readonly [Field in Exclude<keyof Input<S>, Without<N> | WithDefault<N>>]: undefined extends Input<S>[Field]
    ? Value<S, N, Field> | undefined
    : Value<S, N, Field>;
};

export interface FieldFlags<T> {
  addTo(command: Command): Command;
  /** @throws UsageProblem for a value that the field does not take */
  read(flags: object): T;
}

/** One flag for each field of a query or a body. */
export function flagsOf<S extends z.ZodObject, const N extends FlagNotes<S>>(
  schema: S,
  notes: N,
): FieldFlags<FlagValues<S, N>> {
  const all = new Map<string, FlagNote | "none" | "page" | undefined>(Object.entries(notes));
  const made = Object.entries(schema.shape).flatMap(([field, type]) => {
    const note = all.get(field) ?? {};
    return typeof note === "string" ? [] : [flagOf(field, type, note)];
  });
  return {
    addTo: (command) => made.reduce((added, { option }) => added.addOption(option), command),
    read(flags) {
      const given = new Map<string, unknown>(Object.entries(flags));
      const read = made.flatMap(({ field, option, read }) => {
        const typed = given.get(option.attributeName());
        return typed === undefined ? [] : [[field, read(typed)] as const];
      });
      return Object.fromEntries(read) as FlagValues<S, N>; // each was read by the schema of its field
    },
  };
}

interface Flag {
  readonly field: string;
  readonly option: Option;
  readonly read: (typed: unknown) => unknown;
}

function flagOf(field: string, type: z.core.$ZodType, note: FlagNote): Flag {
  const flag = `--${note.name ?? field.replaceAll("_", "-")}`;
  const { inner, isOptional, description } = unwrapped(type);
  const { def } = inner._zod;
  const value = note.value ?? valueNames.get(def.type) ?? flag.slice(2);
  const values =
    def.type === "enum" ? [...Object.values(def.entries), ...(note.all === true ? ["all"] : [])].join(", ") : "";
  const help = [note.help ?? asHelp(description), values].filter((part) => part !== "").join(": ");
  const option = new Option(def.type === "boolean" ? flag : `${flag} <${value}>`, help);
  if (note.default !== undefined) option.default(note.default, note.default);
  option.makeOptionMandatory(!isOptional && note.default === undefined);
  return { field, option, read: (typed) => readValue(inner, typed, { ...note, flag }) };
}

/** The type of a field without its wrappers, and its description. */
function unwrapped(type: z.core.$ZodType): {
  readonly inner: z.core.$ZodTypes;
  readonly isOptional: boolean;
  readonly description: string;
} {
  const { def } = (type as z.core.$ZodTypes)._zod; // the contract has no types of its own
  const { description } = type as z.ZodType; // every schema of the contract is a classic one
  if (def.type !== "optional" && def.type !== "default" && def.type !== "readonly")
    return { inner: type as z.core.$ZodTypes, isOptional: false, description: description ?? "" };
  const { inner, isOptional, ...inside } = unwrapped(def.innerType);
  return { inner, isOptional: isOptional || def.type !== "readonly", description: description ?? inside.description };
}

/** A sentence of the contract, as help texts are written. */
function asHelp(sentence: string): string {
  return sentence.replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase()).replace(/\.$/, "");
}

const valueNames: ReadonlyMap<string, string> = new Map([
  ["array", "a,b"],
  ["custom", "json"],
  ["number", "number"],
  ["string", "text"],
  ["union", "time"],
]);

function readValue(
  type: z.core.$ZodTypes,
  typed: unknown,
  { flag, all, read }: FlagNote & { readonly flag: string },
): unknown {
  if (typeof typed !== "string") return typed; // a flag without a value
  if (all === true && typed === "all") return typed;
  if (read !== undefined) return read(typed, flag);
  if (type._zod.def.type === "custom") return objectOf(typed, flag);
  const { def } = type._zod;
  const given =
    def.type === "array" ? wordsIn(typed) : def.type === "enum" ? anyCase(def.entries, typed) : fromText(type, typed);
  const result = (type as unknown as z.ZodType).safeParse(given); // every schema of the contract is a classic one
  if (result.success) return given;
  const [issue] = result.error.issues;
  const word = Array.isArray(given) ? given[Number(issue?.path[0] ?? 0)] : typed;
  const why =
    issue?.code === "invalid_value"
      ? `\`${word}\` is none of ${[...issue.values, ...(all === true ? ["all"] : [])].join(", ")}`
      : (issue?.message ?? "does not fit");
  throw new UsageProblem(`\`${flag} ${typed}\`: ${why}.`);
}

/** A word of the command line, as the value of a field. @throws UsageProblem */
export function readField<S extends z.ZodType>(type: S, typed: string, flag: string): Exclude<Input<S>, undefined> {
  return readValue(unwrapped(type).inner, typed, { flag }) as Exclude<Input<S>, undefined>; // its schema took it
}

/** `a2` is A2. */
function anyCase(entries: Readonly<Record<string, unknown>>, typed: string): string {
  return Object.keys(entries).find((entry) => entry.toLowerCase() === typed.toLowerCase()) ?? typed;
}

/** Words separated by commas. */
function wordsIn(text: string): readonly string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** `--limit`, for as many pages as it takes. */
export function rowLimit(most: number): {
  readonly help: string;
  readonly default: string;
  readonly read: typeof wholeNumber;
} {
  return { help: "at most so many", default: String(most), read: wholeNumber };
}

/** @param now in milliseconds since 1970: an age is counted back from it */
export function pastTime(
  now: () => number,
  help = "ISO time, date, or age: 15m, 2h, 7d",
): { readonly help: string; readonly read: (text: string, flag: string) => string } {
  return { help, read: (text, flag) => instant(text, flag, now()) };
}

/** Flags that many commands have. */
export const ofTool = { value: "name", help: "only of this tool" } as const;
export const ofRun = { name: "run", value: "id", help: "only of this run" } as const;
export const scopeList = { help: "scopes to call with, separated by commas" } as const;

/** @throws UsageProblem */
export function oneOf<T extends string>(text: string, options: readonly T[], flag: string): T {
  const found = options.find((option) => option === text);
  if (found === undefined) throw new UsageProblem(`\`${flag} ${text}\`: \`${text}\` is none of ${options.join(", ")}.`);
  return found;
}

export function wholeNumber(text: string, flag: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new UsageProblem(`\`${flag} ${text}\` is not a whole number from 0.`);
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

const date = /^\d{4}-\d{2}-\d{2}$/;
const dateAndTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?$/i;
const lastInstantMs = 8.64e15;

/** Reads a time, a date, or an age (`15m`, `2h`, `7d`). Returns ISO 8601. */
export function instant(text: string, flag: string, now: number): string {
  return isoOf(timeIn(text, (span) => now - span)) ?? noTime(`${flag} ${text}`, "a time", "an age");
}

/** Reads a time, a date, or a span from now (`15m`, `2h`, `7d`). Returns ISO 8601. */
export function later(text: string, flag: string, now: number): string {
  return isoOf(timeIn(text, (span) => now + span)) ?? noTime(`${flag} ${text}`, "a time to come", "for so long");
}

/** A time without an offset is UTC, as every time that is shown. */
function timeIn(text: string, at: (spanMs: number) => number): number {
  const [, count, unit = "s"] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return at(Number(count) * 1000 * (unitSeconds[unit] ?? 1));
  if (date.test(text)) return Date.parse(text);
  const [found, offset] = dateAndTime.exec(text) ?? [];
  return found === undefined ? Number.NaN : Date.parse(offset === undefined ? `${found}Z` : found);
}

function isoOf(ms: number): string | undefined {
  return Math.abs(ms) <= lastInstantMs ? new Date(ms).toISOString() : undefined;
}

function noTime(typed: string, what: string, span: string): never {
  throw new UsageProblem(
    `\`${typed}\` is not ${what}. Write \`2026-11-20T12:00:00Z\`, \`2026-11-20\` (UTC, unless it has an offset), or ${span}: \`15m\`, \`2h\`, \`7d\`.`,
  );
}
