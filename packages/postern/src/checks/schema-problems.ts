/** Turns the issues of a zod schema into sentences with the key, the value and what to write instead. */

import { camelName, insteadOf, nearest, RuntimeFault } from "@postern/core";
import type { core, z } from "zod";

export type KeyPath = readonly (string | number)[];

/** The keywords of a JSON Schema that define which keys are known. */
export interface JsonSchemaKeys {
  readonly properties?: Readonly<Record<string, JsonSchemaKeys>>;
  readonly additionalProperties?: boolean | JsonSchemaKeys;
  readonly items?: JsonSchemaKeys;
  readonly propertyNames?: { readonly enum?: readonly string[] };
  readonly anyOf?: readonly JsonSchemaKeys[];
  readonly oneOf?: readonly JsonSchemaKeys[];
}

export function keysOf(schema: z.ZodType): JsonSchemaKeys {
  return schema.toJSONSchema({ io: "input", unrepresentable: "any" }) as JsonSchemaKeys; // it names the few words that are read
}

export interface SchemaProblem {
  readonly path: KeyPath;
  readonly part: "key" | "value";
  /** `policy.rules[0].effect` */
  readonly key: string;
  readonly message: string;
  readonly fix: string;
}

type Sentences = Pick<SchemaProblem, "message" | "fix">;
type ZodIssue = core.$ZodIssue;

export interface CheckedValue {
  readonly value: unknown;
  readonly schema: JsonSchemaKeys;
  /** The author writes snake_case and YAML in a file, camelCase and objects in code. */
  readonly language: "file" | "code";
  /** Keys of earlier versions with their present names. */
  readonly renamedKeys?: ReadonlyMap<string, string>;
  /** What to write instead of a key, or of the value at a key, that other programs have. */
  readonly fixFor?: (path: KeyPath, part: SchemaProblem["part"]) => string | undefined;
}

export function schemaProblems(
  issues: readonly ZodIssue[],
  written: CheckedValue,
  above: KeyPath = [],
): readonly SchemaProblem[] {
  return issues.flatMap((issue) => problemsOf(issue, [...above, ...issue.path.map(stepOf)], written));
}

/** @throws RuntimeFault `options_invalid` with every mistake, a line each; `place` names the option at a key */
export function checkOptionsBy(schema: z.ZodType, value: unknown, place = (key: string): string => `\`${key}\``): void {
  const { error } = schema.safeParse(value);
  if (error !== undefined) throw new RuntimeFault("options_invalid", problemLines(error, { value, schema }, place));
}

/** The problems of a value that code passes in, a line each. */
export function problemLines(
  { issues }: z.ZodError,
  { value, schema }: { readonly value: unknown; readonly schema: z.ZodType },
  place: (key: string) => string,
): string {
  const problems = schemaProblems(issues, { value, schema: keysOf(schema), language: "code" });
  return problems.map(({ key, message, fix }) => `${place(key)}: ${message} ${fix}`).join("\n");
}

export function keyText(path: KeyPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    const name = /^[\w-]+$/.test(step) ? step : JSON.stringify(step);
    return text === "" ? name : `${text}.${name}`;
  }, "");
}

/** All branches of a choice, in one list. */
function branches(schema: JsonSchemaKeys): readonly JsonSchemaKeys[] {
  const inner = schema.anyOf ?? schema.oneOf;
  return inner === undefined ? [schema] : inner.flatMap(branches);
}

function stepInto(schema: JsonSchemaKeys, name: string | number): JsonSchemaKeys {
  const found = branches(schema).flatMap(({ items, properties, additionalProperties }): readonly JsonSchemaKeys[] => {
    if (typeof name === "number") return items === undefined ? [] : [items];
    const own = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    return own !== undefined ? [own] : typeof additionalProperties === "object" ? [additionalProperties] : [];
  });
  return { anyOf: found };
}

/** The keys that a mapping at this path may have, if they are fixed. */
function knownKeys(schema: JsonSchemaKeys, path: KeyPath): readonly string[] {
  return branches(path.reduce(stepInto, schema)).flatMap(({ properties = {}, propertyNames }) => [
    ...Object.keys(properties),
    ...(propertyNames?.enum ?? []),
  ]);
}

function problemsOf(issue: ZodIssue, path: KeyPath, written: CheckedValue): readonly SchemaProblem[] {
  const { schema, language } = written;
  const nameOf = nameIn(language);
  const key = keyText(namedSteps(path, written));
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = knownKeys(schema, path).map(nameOf);
      return issue.keys.map((name) => {
        const asWritten = known.includes(nameOf(name)) ? name : nameOf(name); // in code, a name in the case of files is unknown
        const unknown = keyText([...namedSteps(path, written), asWritten]);
        const now = written.renamedKeys?.get(unknown);
        const sentences = now === undefined ? unknownKey(asWritten, known) : renamedKey(unknown, now);
        const fix = written.fixFor?.([...path, name], "key") ?? sentences.fix;
        return { path: [...path, name], part: "key", key: unknown, ...sentences, fix };
      });
    }
    case "invalid_union": {
      const branch = likeliest(issue.errors);
      if (branch !== undefined) return schemaProblems(branch, written, path);
      const message = `${shown(written, path)} fits none of the values that are allowed here.`;
      return [{ path, part: "value", key, message, fix: "See docs/reference/configuration.md." }];
    }
    case "invalid_key":
    case "invalid_element": {
      const name = String(path.at(-1));
      const [why] = issue.issues;
      const fix = why?.code === "invalid_value" ? noneOf(why.values.map(String), name).fix : fixOf(why);
      return [{ path, part: "key", key, message: `\`${name}\` cannot be a name here.`, fix }];
    }
    default: {
      const sentences = sentencesOf(issue, { value: shown(written, path), path, language });
      return [{ path, part: "value", key, ...sentences, fix: written.fixFor?.(path, "value") ?? sentences.fix }];
    }
  }
}

function stepOf(step: PropertyKey): string | number {
  return typeof step === "number" ? step : String(step);
}

function nameIn(language: CheckedValue["language"]): (key: string) => string {
  return language === "code" ? camelName : (key) => key;
}

/** Keys that people choose, such as names of servers, are not converted. */
function namedSteps(path: KeyPath, { schema, language }: CheckedValue): KeyPath {
  const nameOf = nameIn(language);
  return path.map((step, i) =>
    typeof step === "string" && knownKeys(schema, path.slice(0, i)).includes(step) ? nameOf(step) : step,
  );
}

function renamedKey(key: string, now: string): Sentences {
  return { message: `\`${key}\` has another name now.`, fix: `Write \`${now}\`; its content stays the same.` };
}

function unknownKey(name: string, known: readonly string[]): Sentences {
  const message = `\`${name}\` is not a known key.`;
  const advice = ofRisk(name, known);
  if (advice !== undefined) return { message, fix: advice };
  const meant = nearest(name, known);
  if (meant !== undefined) return { message, fix: `Did you mean \`${meant}\`?` };
  return { message, fix: known.length === 0 ? "Remove it." : `Known here: ${known.join(", ")}.` };
}

/** The advice for `low` where a level of risk is needed. */
function ofRisk(word: string, options: readonly string[]): string | undefined {
  return word === "low" && options.includes("safe") ? `As a risk, ${insteadOf(word)}.` : undefined;
}

/** The branch of a choice that fitted furthest is probably the one that was meant. */
function likeliest(choices: readonly (readonly ZodIssue[])[]): readonly ZodIssue[] | undefined {
  const wrongFromTheStart = (issues: readonly ZodIssue[]): boolean =>
    issues.some(({ code, path }) => code === "invalid_type" && path.length === 0);
  const meant = choices.filter((issues) => !wrongFromTheStart(issues));
  return [...meant].sort((a, b) => a.length - b.length)[0];
}

interface IssuePlace {
  /** The value as a sentence shows it. */
  readonly value: string;
  readonly path: KeyPath;
  readonly language: CheckedValue["language"];
}

function sentencesOf(issue: ZodIssue, { value, path, language }: IssuePlace): Sentences {
  const expected = expectedBy(issue);
  if (expected !== undefined) {
    const wanted = article(expected, language);
    if (value === "nothing") return { message: "It is missing.", fix: `Add it: ${wanted}.` };
    return {
      message: `${value} is not ${wanted}.`,
      fix:
        spanFix(String(path.at(-1)), value) ??
        (isOwn(issue) ? issue.message : `Write ${wanted}${hint(expected, value)}.`),
    };
  }
  switch (issue.code) {
    case "invalid_value":
      return { ...noneOf(issue.values.map(String), value), ...(isOwn(issue) && { fix: issue.message }) };
    case "too_small":
      return {
        message: issue.minimum === 1 && unit(issue.origin) !== "" ? "It is empty." : `${value} is too small.`,
        fix: `Write ${issue.inclusive === false ? "a number above" : "at least"} ${issue.minimum}${unit(issue.origin, issue.minimum)}.`,
      };
    case "too_big":
      return {
        message: `${value} is too big.`,
        fix: `Write at most ${issue.maximum}${unit(issue.origin)}.`,
      };
    case "invalid_format":
      return { message: `${value} does not have the right form.`, fix: fixOf(issue) };
    default:
      return {
        message: /^An? /.test(value) ? issue.message : `${value}: ${issue.message}`,
        fix: fixIn(issue) ?? `See \`${String(path.at(0) ?? "")}\` in docs/reference/configuration.md.`,
      };
  }
}

function noneOf(options: readonly string[], value: string): Sentences {
  const list = options.map((option) => `\`${option}\``).join(", ");
  if (value === "nothing")
    return { message: "It is missing.", fix: `Add it: ${options.length === 1 ? "" : "one of "}${list}.` };
  if (options.length === 1) return { message: `${value} is not ${list}.`, fix: `Write ${list}.` };
  const message = `${value} is not one of ${list}.`;
  const word = value.replaceAll(/[`"]/g, "");
  const advice = ofRisk(word, options);
  if (advice !== undefined) return { message, fix: advice };
  const meant = nearest(word, options);
  return { message, fix: meant === undefined ? "Write one of them." : `Did you mean \`${meant}\`?` };
}

/** What a value of the wrong kind must be. A schema's own check may say it: `{ params: { expected } }`. */
function expectedBy(issue: ZodIssue): string | undefined {
  const expected: unknown = issue.code === "invalid_type" ? issue.expected : paramIn(issue, "expected");
  return typeof expected === "string" ? expected : undefined;
}

/** The message of a schema of ours, not of zod. */
function isOwn({ message }: ZodIssue): boolean {
  return !message.startsWith("Invalid");
}

/** A schema's own check may give the fix: `{ message, params: { fix } }`. */
function fixIn(issue: ZodIssue): string | undefined {
  const fix = paramIn(issue, "fix");
  return typeof fix === "string" ? fix : undefined;
}

function paramIn(issue: ZodIssue, name: string): unknown {
  return issue.code === "custom" ? issue.params?.[name] : undefined;
}

function fixOf(issue: ZodIssue | undefined): string {
  if (issue === undefined) return "Choose another name.";
  if (isOwn(issue)) return issue.message;
  return issue.code === "invalid_format" && issue.pattern !== undefined
    ? `It must match ${issue.pattern}.`
    : "Write it as docs/reference/configuration.md says.";
}

const articles: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a mapping (`key: value` lines)",
  record: "a mapping (`name: …` lines)",
  array: "a list (lines that begin with `-`)",
};

function article(expected: string, language: CheckedValue["language"]): string {
  const words = articles[expected] ?? expected;
  return language === "code" ? words.replace(/ \(.*$/, "").replace("a mapping", "an object") : words;
}

function hint(expected: string, value: string): string {
  return expected === "string" && /^`[\d.]+`$|^`(true|false|null)`$/.test(value) ? ", in quotes" : "";
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** For a span such as `1h` under a key with a unit: the same span in that unit. */
function spanFix(key: string, value: string): string | undefined {
  const [, count, unitName = ""] = /^`"?(\d{1,9}) ?([smhd])"?`$/.exec(value) ?? [];
  const [, named] = /(seconds|ms)$/i.exec(key) ?? [];
  if (count === undefined || named === undefined) return undefined;
  const ms = Number(count) * (unitMs[unitName] ?? 1000);
  return named.toLowerCase() === "ms" ? `Write milliseconds: ${ms}.` : `Write seconds: ${ms / 1000}.`;
}

function unit(origin: string, count: number | bigint = 2): string {
  if (origin === "string") return count === 1 ? " character" : " characters";
  return origin !== "array" ? "" : count === 1 ? " entry" : " entries";
}

/** The value in the file, shortened. An absent value is shown as `nothing`. */
function shown(written: CheckedValue, path: KeyPath): string {
  let { value } = written;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return "nothing";
    value = (value as Readonly<Record<string | number, unknown>>)[step]; // has it, as was just asked
  }
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "A list";
  if (typeof value === "object" && value !== null) return written.language === "code" ? "An object" : "A mapping";
  if (typeof value === "function") return "A function";
  if (typeof value === "string" && mayBeSecret(path)) return "What stands there";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return `\`${text.length > 60 ? `${text.slice(0, 60)}…` : text}\``;
}

/** An author may have written a secret where its reference belongs. The address of a channel is often a secret too. */
function mayBeSecret(path: KeyPath): boolean {
  const last = String(path.at(-1) ?? "");
  return /(?:secret|password|token)$/i.test(last) || (path[0] === "channels" && last === "url");
}
