import type { core } from "zod";
import { nearest } from "../calls/nearest.ts";
import { type ConfigProblem, type KeyPath, keyText } from "./problem.ts";
import { knownKeys, type Shape, shapeAt } from "./shape.ts";

type Issue = core.$ZodIssue;
/** Where a path stands; without a file there is no line to name. */
export type Locate = (
  path: KeyPath,
  part: "key" | "value",
) => { readonly source: string; readonly line?: number; readonly column?: number };

type Said = Pick<ConfigProblem, "message" | "fix">;

/** What was checked, and how to speak of it. */
export interface Written {
  readonly value: unknown;
  readonly shape: Shape;
  readonly locate: Locate;
  /** A known key as this configuration spells it: snake_case in data, camelCase in code. */
  readonly spell: (key: string) => string;
}

/** What a schema has against a configuration, as sentences with the place, the value and what to write instead. */
export function schemaProblems(
  issues: readonly Issue[],
  written: Written,
  above: KeyPath = [],
): readonly ConfigProblem[] {
  return issues.flatMap((issue) => problemsOf(issue, [...above, ...issue.path.map(stepOf)], written));
}

function problemsOf(issue: Issue, path: KeyPath, written: Written): readonly ConfigProblem[] {
  const { value, shape, locate } = written;
  const key = keyOf(path, written);
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = knownKeys(shapeAt(shape, path)).map(written.spell);
      return issue.keys.map((name) => ({
        ...locate([...path, name], "key"),
        key: keyOf([...path, name], written),
        ...(renamedKey(keyOf([...path, name], written)) ?? unknownKey(name, known)),
      }));
    }
    case "invalid_union": {
      const branch = likeliest(issue.errors);
      if (branch !== undefined) return schemaProblems(branch, written, path);
      const message = `${shown(value, path)} fits none of what may stand here.`;
      return [{ ...locate(path, "value"), key, message, fix: "See docs/reference/configuration.md." }];
    }
    case "invalid_key":
    case "invalid_element":
      return [
        {
          ...locate(path, "key"),
          key,
          message: `\`${String(path.at(-1))}\` cannot be a name here.`,
          fix: fixOf(issue.issues[0]),
        },
      ];
    default:
      return [{ ...locate(path, "value"), key, ...said(issue, shown(value, path), path) }];
  }
}

function stepOf(step: PropertyKey): string | number {
  return typeof step === "number" ? step : String(step);
}

/** Keys the schema knows as they are spelled here; names people chose as they are. */
function keyOf(path: KeyPath, { shape, spell }: Written): string {
  const steps = path.map((step, i) => {
    if (typeof step === "number") return step;
    return knownKeys(shapeAt(shape, path.slice(0, i))).includes(step) ? spell(step) : step;
  });
  return keyText(steps);
}

/** Keys of earlier versions, as files spell them. */
const renamed: ReadonlyMap<string, string> = new Map([["chains.drivers", "chains.engine_settings"]]);

function renamedKey(key: string): Said | undefined {
  const name = renamed.get(key);
  return name === undefined
    ? undefined
    : { message: `\`${key}\` has another name now.`, fix: `Write \`${name}\`; what stands in it stays.` };
}

function unknownKey(name: string, known: readonly string[]): Said {
  const message = `\`${name}\` is not a known key.`;
  const meant = nearest(name, known);
  if (meant !== undefined) return { message, fix: `Did you mean \`${meant}\`?` };
  return { message, fix: known.length === 0 ? "Remove it." : `Known here: ${known.join(", ")}.` };
}

/** Of a choice, the branch that went furthest before something did not fit is the one that was meant. */
function likeliest(choices: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const wrongFromTheStart = (issues: readonly Issue[]): boolean =>
    issues.some(({ code, path }) => code === "invalid_type" && path.length === 0);
  const meant = choices.filter((issues) => !wrongFromTheStart(issues));
  return [...meant].sort((a, b) => a.length - b.length)[0];
}

function said(issue: Issue, value: string, path: KeyPath): Said {
  switch (issue.code) {
    case "invalid_type":
      if (value === "nothing") return { message: "It is missing.", fix: `Add it: ${article(issue.expected)}.` };
      return {
        message: `${value} is not ${article(issue.expected)}.`,
        fix:
          spanFix(String(path.at(-1)), value) ??
          (issue.message.startsWith("Invalid")
            ? `Write ${article(issue.expected)}${hint(issue.expected, value)}.`
            : issue.message),
      };
    case "invalid_value":
      return noneOf(issue.values.map(String), value);
    case "too_small":
      return {
        message: `${value} is too small.`,
        fix: `Write at least ${issue.minimum}${unit(issue.origin)}${issue.inclusive === false ? " and a bit more" : ""}.`,
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
        message: `${value}: ${issue.message}`,
        fix: fixIn(issue) ?? `See \`${String(path.at(0) ?? "")}\` in docs/reference/configuration.md.`,
      };
  }
}

function noneOf(options: readonly string[], value: string): Said {
  const list = options.map((option) => `\`${option}\``).join(", ");
  if (value === "nothing") return { message: "It is missing.", fix: `Add it: one of ${list}.` };
  const meant = nearest(value.replaceAll(/[`"]/g, ""), options);
  return {
    message: `${value} is not one of ${list}.`,
    fix: meant === undefined ? "Write one of them." : `Did you mean \`${meant}\`?`,
  };
}

/** A schema's own check may say how to mend it: `{ message, params: { fix } }`. */
function fixIn(issue: Issue): string | undefined {
  const fix: unknown = issue.code === "custom" ? issue.params?.["fix"] : undefined;
  return typeof fix === "string" ? fix : undefined;
}

function fixOf(issue: Issue | undefined): string {
  if (issue === undefined) return "Choose another name.";
  if (!issue.message.startsWith("Invalid")) return issue.message;
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

function article(expected: string): string {
  return articles[expected] ?? expected;
}

function hint(expected: string, value: string): string {
  return expected === "string" && /^`[\d.]+`$|^`(true|false|null)`$/.test(value) ? ", in quotes" : "";
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `1h` where a key says its unit: the same in that. */
function spanFix(key: string, value: string): string | undefined {
  const [, count, unitName = ""] = /^`"?(\d{1,9}) ?([smhd])"?`$/.exec(value) ?? [];
  const [, named] = /(seconds|ms)$/i.exec(key) ?? [];
  if (count === undefined || named === undefined) return undefined;
  const ms = Number(count) * (unitMs[unitName] ?? 1000);
  return named.toLowerCase() === "ms" ? `Write milliseconds: ${ms}.` : `Write seconds: ${ms / 1000}.`;
}

function unit(origin: string): string {
  return origin === "string" ? " characters" : origin === "array" ? " entries" : "";
}

/** The value as it stands in the file, short; a key's absence is `nothing`. */
function shown(root: unknown, path: KeyPath): string {
  let value: unknown = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return "nothing";
    value = (value as Readonly<Record<string | number, unknown>>)[step]; // has it, as was just asked
  }
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "A list";
  if (typeof value === "object" && value !== null) return "A mapping";
  if (typeof value === "string" && mayBeSecret(path)) return "What stands there";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return `\`${text.length > 60 ? `${text.slice(0, 60)}…` : text}\``;
}

/** Somebody may have written the value where its reference belongs; the address of a channel is often a password. */
function mayBeSecret(path: KeyPath): boolean {
  const last = String(path.at(-1) ?? "");
  return /(?:secret|password|token)$/i.test(last) || (path[0] === "channels" && last === "url");
}
