import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  visit,
  type YAMLError,
} from "yaml";
import { messageOf } from "../core/fault.ts";
import type { KeyPath } from "../core/schema-problems.ts";
import { type ConfigProblem, ConfigProblems } from "./problem.ts";

/** A configuration's text, with the place of every key. */
export interface ConfigSource {
  readonly value: unknown;
  /** The place of the value at this path, or of the nearest node around it. `key`: the place of the key itself. */
  place(path: KeyPath, part?: "key" | "value"): { readonly line: number; readonly column: number };
}

/** People write configurations, so a longer text is another file. */
const maxCharacters = 1024 * 1024;

/**
 * The YAML parser reads JSON too, because it knows the place of every node.
 *
 * @throws ConfigProblems with every mistake in the syntax
 */
export function readSource(source: string, text: string, language: "yaml" | "json" = "yaml"): ConfigSource {
  if (text.length > maxCharacters) {
    const message = `The file has ${text.length} characters; at most ${maxCharacters} are read.`;
    throw ConfigProblems.of({ source, message, fix: "Name the configuration file, not another one." });
  }
  if (text.includes("\0")) {
    const message = "The file holds NUL characters; it is not text.";
    throw ConfigProblems.of({ source, message, fix: "Save it as UTF-8 text." });
  }
  const lines = new LineCounter();
  const schema = language === "json" ? "json" : "core";
  const document = parseDocument(text, { lineCounter: lines, schema, prettyErrors: true, logLevel: "error" });
  const problems = [...document.errors, ...document.warnings].map((error) => syntaxProblem(source, error));
  if (problems.length === 0) problems.push(...strangeKeys(source, document.contents, lines));
  if (problems.length > 0) throw new ConfigProblems(problems);
  return {
    value: plainValue(document, source) ?? {},
    place: (path, part = "value") => {
      const { line, col } = lines.linePos(offsetAt(document.contents, path, part));
      return { line, column: col };
    },
  };
}

function plainValue(document: ReturnType<typeof parseDocument>, source: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw ConfigProblems.of({
      source,
      message: `${messageOf(error)}.`,
      fix: "Write the value out instead of using so many aliases (`*name`), and define each anchor (`&name`) first.",
    });
  }
}

const fixes: ReadonlyMap<string, string> = new Map([
  ["DUPLICATE_KEY", "Keep one of the two; which one should win is not guessed."],
  ["TAB_AS_INDENT", "Indent with spaces."],
  ["MULTIPLE_DOCS", "Keep one document; remove the `---` between them."],
  ["BAD_INDENT", "Indent it like its neighbours."],
  ["TAG_RESOLVE_FAILED", "Write plain values, text in quotes; tags (`!…`) are not read."],
  ["MISSING_CHAR", "Close the quote or bracket, or put `:` after the key."],
]);

function syntaxProblem(file: string, error: YAMLError): ConfigProblem {
  const [start] = error.linePos ?? [];
  const [first = error.message] = error.message.split("\n");
  const message = `${first.replace(/ at line \d+, column \d+:?$/, "")}.`;
  const fix = fixes.get(error.code) ?? "Correct the line; `postern doctor` checks the file again.";
  const at = start === undefined ? {} : { line: start.line, column: start.col };
  return { source: file, ...at, key: "", message, fix };
}

/** Keys that are not text, and `__proto__`, which JavaScript does not treat as data. */
function strangeKeys(file: string, contents: ParsedNode | null, lines: LineCounter): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  visit(contents, {
    Pair(_, pair) {
      const key: unknown = pair.key;
      if (isScalar(key) && typeof key.value === "string" && key.value !== "__proto__") return;
      const shown = isScalar(key) ? `\`${String(key.value)}\`` : "A list or a mapping";
      const { line, col: column } = lines.linePos(offsetOf(key) ?? 0);
      const message = `${shown} cannot be a key.`;
      const fix = "Use a name; put it in quotes when it looks like a number.";
      problems.push({ source: file, line, column, key: "", message, fix });
    },
  });
  return problems;
}

/** The place of the last node of this path that exists. */
function offsetAt(contents: Node | null, path: KeyPath, part: "key" | "value"): number {
  let offset = contents?.range?.[0] ?? 0;
  let node: unknown = contents;
  for (const [i, step] of path.entries()) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (pair === undefined) break;
      const wanted = part === "key" && i === path.length - 1 ? pair.key : (pair.value ?? pair.key);
      offset = offsetOf(wanted) ?? offsetOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(step)];
      if (item === undefined) break;
      offset = offsetOf(item) ?? offset;
      node = item;
    } else break;
  }
  return offset;
}

function offsetOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined;
}
