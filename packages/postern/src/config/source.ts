import { messageOf } from "@postern/core";
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit, type YAMLError } from "yaml";
import type { KeyPath } from "../checks/schema-problems.ts";
import { type ConfigProblem, ConfigProblems } from "./problem.ts";

/** A configuration's text, with the place of every key. */
export interface ConfigSource {
  readonly value: unknown;
  /** The place of the value at this path, or of the nearest node around it. `key`: the place of the key itself. */
  place(path: KeyPath, part?: "key" | "value"): { readonly line: number; readonly column: number };
}

type ParsedDocument = ReturnType<typeof parseDocument>;

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
  const problems = [...document.errors, ...document.warnings]
    .map((error) => syntaxProblem(source, text, error))
    .filter(({ line }, i, all) => line === undefined || line !== all[i - 1]?.line); // others in a line follow from its first
  if (problems.length === 0) problems.push(...strangeKeys(source, document, lines));
  if (problems.length > 0) throw new ConfigProblems(problems);
  return {
    value: plainValue(document, source) ?? {},
    place: (path, part = "value") => {
      const { line, col } = lines.linePos(offsetAt(document.contents, path, part));
      return { line, column: col };
    },
  };
}

function plainValue(document: ParsedDocument, source: string): unknown {
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

/** One mistake in the syntax, for people who do not know the words of YAML. */
interface SyntaxText {
  readonly code: string;
  /** Only where the parser's own sentence begins so. */
  readonly begins?: string;
  /** @param at the word at the place of the mistake */
  readonly message: (at: string) => string;
  readonly fix: string;
}

const openBracket = {
  message: () => "A `[` or `{` is not closed.",
  fix: "Close it with `]` or `}`, and indent the lines inside it deeper than its key.",
};
const noColon = {
  message: () => "This line is neither `key: value` nor an entry of a list.",
  fix: "Write `key: value` with a space after the colon, or `- value`; indent a text of several lines below its `|`.",
};

/** The first that fits. */
const syntaxTexts: readonly SyntaxText[] = [
  { code: "BAD_INDENT", begins: "Flow", ...openBracket },
  { code: "MISSING_CHAR", begins: "Flow", ...openBracket },
  {
    code: "BAD_INDENT",
    message: () => "This line is not indented like the lines that it belongs to.",
    fix: "Give it as many spaces at its beginning as they have; an entry's keys stand below its first key, not below its `-`.",
  },
  {
    code: "MISSING_CHAR",
    begins: "Missing closing",
    message: () => "A quote is not closed.",
    fix: "Close it, in the same line if the text has one line.",
  },
  {
    code: "MISSING_CHAR",
    begins: "Sequence item",
    message: () => "This line belongs to no entry of the list above it.",
    fix: "Begin a new entry with `- `, or indent the line as deep as the first key of its entry.",
  },
  { code: "MISSING_CHAR", ...noColon },
  { code: "MULTILINE_IMPLICIT_KEY", ...noColon },
  {
    code: "BLOCK_AS_IMPLICIT_KEY",
    message: () => "A value holds a second `: `, in its line or in a line that is indented below it.",
    fix: 'If it belongs to the value, put the value in quotes: `key: "a: b"`. Else begin a new line, indented like its neighbours.',
  },
  {
    code: "BAD_SCALAR_START",
    message: (at) => `A value cannot begin with \`${at.slice(0, 1)}\` without quotes.`,
    fix: "Put the value in quotes.",
  },
  {
    code: "BAD_ALIAS",
    message: () => "A value that begins with `*` is the name of an anchor.",
    fix: 'Put a pattern in quotes: `"*"`.',
  },
  {
    code: "BAD_DQ_ESCAPE",
    message: (at) => `\`${at.slice(0, 2)}\` means nothing inside double quotes.`,
    fix: "Write `\\\\` for a backslash, or use single quotes.",
  },
  {
    code: "DUPLICATE_KEY",
    message: (at) => `The key \`${at.replace(/:$/, "")}\` is there twice.`,
    fix: "Keep one of the two; which one should win is not guessed.",
  },
  { code: "TAB_AS_INDENT", message: () => "The line is indented with a tab.", fix: "Indent with spaces." },
  {
    code: "MULTIPLE_DOCS",
    message: () => "The file holds several documents.",
    fix: "Keep one document; remove the `---` between them.",
  },
  {
    code: "TAG_RESOLVE_FAILED",
    message: (at) => `\`${at}\` is a tag, and tags are not read.`,
    fix: "Write plain values; put a text that begins with `!` in quotes.",
  },
];

function syntaxProblem(file: string, text: string, error: YAMLError): ConfigProblem {
  const [start] = error.linePos ?? [];
  const [first = error.message] = error.message.split("\n");
  const known = syntaxTexts.find(({ code, begins = "" }) => code === error.code && first.startsWith(begins));
  const [word = ""] = /^\S*/.exec(text.slice(error.pos[0], error.pos[0] + 60)) ?? [];
  const message = known?.message(word) ?? `${first.replace(/ at line \d+, column \d+:?$/, "")}.`;
  const fix = known?.fix ?? "Put a text with special characters in quotes; `postern doctor` checks the file again.";
  const at = start === undefined ? {} : { line: start.line, column: start.col };
  return { source: file, ...at, key: "", message, fix };
}

/** Keys that are not text, `__proto__`, which JavaScript does not treat as data, and names of anchors that are not there. */
function strangeKeys(file: string, document: ParsedDocument, lines: LineCounter): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) !== undefined) return;
      const { line, col: column } = lines.linePos(offsetOf(alias) ?? 0);
      const message = `\`*${alias.source}\` is the name of an anchor, and there is no \`&${alias.source}\` before it.`;
      const fix = `Put a pattern in quotes: \`"*${alias.source}"\`.`;
      problems.push({ source: file, line, column, key: "", message, fix });
    },
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
