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
import type { ConfigProblem } from "./problem.ts";

/** A configuration's text, with the place of every key. */
export interface ConfigSource {
  readonly file: string;
  readonly value: unknown;
  /** Of the value at this path, or of the nearest thing around it. `key`: of the key itself. */
  place(path: KeyPath, part?: "key" | "value"): { readonly line: number; readonly column: number };
}

export type ReadSource = { readonly source: ConfigSource } | { readonly problems: readonly ConfigProblem[] };

/** A configuration is written by people; more than this is another file. */
const maxCharacters = 1024 * 1024;

/** JSON is read by the YAML parser too, which is a superset, because it knows where everything stands. */
export function readSource(file: string, text: string, language: "yaml" | "json"): ReadSource {
  if (text.length > maxCharacters) {
    return failed(
      file,
      `The file has ${text.length} characters; at most ${maxCharacters} are read.`,
      "Name the configuration file, not another one.",
    );
  }
  if (text.includes("\0")) {
    return failed(file, "The file holds NUL characters; it is not text.", "Save it as UTF-8 text.");
  }
  const lines = new LineCounter();
  const schema = language === "json" ? "json" : "core";
  const document = parseDocument(text, { lineCounter: lines, schema, prettyErrors: true, logLevel: "error" });
  const problems = [...document.errors, ...document.warnings].map((error) => syntaxProblem(file, error));
  if (problems.length > 0) return { problems };
  const strange = strangeKeys(file, document.contents, lines);
  if (strange.length > 0) return { problems: strange };
  try {
    const root: unknown = document.toJS({ maxAliasCount: 100 });
    return {
      source: {
        file,
        value: root ?? {},
        place: (path, part = "value") => {
          const { line, col } = lines.linePos(offsetAt(document.contents, path, part));
          return { line, column: col };
        },
      },
    };
  } catch (error) {
    return failed(
      file,
      `${messageOf(error)}.`,
      "Write the value out instead of using so many aliases (`*name`), and define each anchor (`&name`) first.",
    );
  }
}

function failed(source: string, message: string, fix: string): ReadSource {
  return { problems: [{ source, key: "", message, fix }] };
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
  const at = start === undefined ? {} : { line: start.line, column: start.col };
  return {
    source: file,
    ...at,
    key: "",
    message,
    fix: fixes.get(error.code) ?? "Correct the line; `postern doctor` checks the file again.",
  };
}

/** Keys that are not text, and the one name that is not data in JavaScript. */
function strangeKeys(file: string, contents: ParsedNode | null, lines: LineCounter): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  visit(contents, {
    Pair(_, pair) {
      const key: unknown = pair.key;
      if (isScalar(key) && typeof key.value === "string" && key.value !== "__proto__") return;
      const shown = isScalar(key) ? `\`${String(key.value)}\`` : "A list or a mapping";
      const at =
        isScalar(key) || isMap(key) || isSeq(key) || isAlias(key)
          ? lines.linePos(key.range?.[0] ?? 0)
          : { line: 1, col: 1 };
      problems.push({
        source: file,
        line: at.line,
        column: at.col,
        key: "",
        message: `${shown} cannot be a key.`,
        fix: "Use a name; put it in quotes when it looks like a number.",
      });
    },
  });
  return problems;
}

/** Of the last thing on this path that is there. */
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
