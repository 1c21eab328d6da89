/** What the type checker's findings mean for a script: refused before it runs, or left to an engine that knows all of Python. */
import { insteadOf } from "../../../name-list.ts";

const finding = /^[^:]*:(\d+):\d+: (error|warning)\[([\w-]+)\] (.*)$/;
/** A call that no such tool can take. Whatever else the checker dislikes may well run. */
const certain: ReadonlySet<string> = new Set([
  "unresolved-attribute",
  "missing-argument",
  "unknown-argument",
  "invalid-argument-type",
]);
const mostFindings = 500;
/** The checker's view of names and blocks of a script at the top level, which Python decides by itself. */
const idle: ReadonlySet<string> = new Set(["empty-body", "await-outside-async", "return-outside-function"]);

export interface Checked {
  readonly problems: string;
  readonly source: string;
  readonly stubs: string;
  /** What there is instead of a tool that there is not. */
  readonly available: readonly string[];
}

export function judge({
  problems,
  source,
  stubs,
  available,
}: Checked): { readonly unsupported: string } | { readonly invalid: string } | undefined {
  const offset = stubs.split("\n").length - 1;
  const found = problems
    .split("\n")
    .map((line) => finding.exec(line))
    .filter((match) => match !== null)
    .slice(0, mostFindings)
    .map(([, line, level, rule = "", message = ""]) => ({ line: Number(line) - offset, level, rule, message }))
    .filter(({ line, level, rule }) => line > 0 && level === "error" && !idle.has(rule));
  const [first] = found;
  if (first === undefined) return undefined;
  // A script that tries is let try: what a tool's absence means to it is its own affair.
  const lines = source.split("\n");
  const wrong = /\btry\b/.test(source)
    ? undefined
    : found.find((each) => isCertain(each, found) && !lines[each.line - 1]?.includes("**"));
  if (wrong !== undefined) {
    const list =
      wrong.rule === "unresolved-attribute"
        ? `. ${insteadOf(/attribute `(\w+)`/.exec(wrong.message)?.[1] ?? "", available)}`
        : "";
    return { invalid: `Line ${wrong.line}: ${plain(wrong.message)}${list}` };
  }
  return { unsupported: `${plain(first.message)} (line ${first.line})` };
}

interface Finding {
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

function isCertain({ line, rule, message }: Finding, all: readonly Finding[]): boolean {
  if (!certain.has(rule) || !/`Tools(?:_\w+)?[.`]/.test(message)) return false;
  if (rule === "invalid-argument-type" && !/found `(?:Literal\[[^|]*|str|int|float|bool|None)`$/.test(message))
    return false;
  // Arguments may be handed over as one dictionary; then the rest of them is not missing.
  return !all.some((other) => other.line === line && other.message.includes("found `dict"));
}

function plain(message: string): string {
  return message
    .replace(
      /Object of type `Tools(?:_(\w+))?`/,
      (_, server: string | undefined) => `\`tools${server === undefined ? "" : `.${server}`}\``,
    )
    .replace(
      /bound method `Tools(?:_(\w+))?\.(\w+)`/,
      (_, server: string | undefined, name: string) => `\`tools.${server === undefined ? "" : `${server}.`}${name}\``,
    );
}
