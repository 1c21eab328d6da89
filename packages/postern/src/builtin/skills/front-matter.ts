import { type Document, isAlias, isMap, isScalar, isSeq, parseDocument, visit, type YAMLMap } from "yaml";

/** A value of a SKILL.md's head. Every scalar is text, so version 1.0 stays `1.0`. */
export type HeadValue = string | readonly string[] | ReadonlyMap<string, string> | undefined;

export interface SkillText {
  /** The text of the front matter, to find later changes. */
  readonly head: string;
  readonly fields: ReadonlyMap<string, HeadValue>;
  readonly body: string;
  readonly warnings: readonly string[];
}

export interface RefusedSkill {
  readonly problem: string;
  readonly fix: string;
}

/** The keys that are read. Other keys are ignored. */
export const knownKeys: ReadonlySet<string> = new Set([
  ...["name", "description", "version", "license", "compatibility", "category"],
  ...["allowed_tools", "allowed-tools", "tags", "aliases", "metadata"],
]);

/** Front matter is a few lines; a description has at most 1,024 characters. */
export const maxHeadBytes: number = 64 * 1024;

/** Splits and reads a SKILL.md. Never throws: it returns the fields, or why there are none. */
export function readSkillText(text: string): SkillText | RefusedSkill {
  const split = splitFence(text);
  if ("problem" in split) return split;
  const { head, body } = split;
  const size = Buffer.byteLength(head);
  if (size > maxHeadBytes) {
    return refused(
      `its front matter has ${size} bytes; at most ${maxHeadBytes} are read`,
      "Keep `description` under 1,024 characters and move the rest below the second `---`.",
    );
  }
  const read = readHead(head);
  if ("fields" in read) return { head, body, ...read };
  const plainer = read.isSyntax === true ? quoted(head) : undefined;
  const again = plainer === undefined ? read : readHead(plainer);
  if (!("fields" in again)) return refused(read.problem, read.fix); // about the original text
  const odd = `front matter is not YAML (${read.problem.replace(/^its front matter is not YAML: /, "")}) and was read line by line; put the value in quotes`;
  return { head, body, fields: again.fields, warnings: [odd, ...again.warnings] };
}

/** A YAML parser would read the body as a second document. */
function splitFence(text: string): { readonly head: string; readonly body: string } | RefusedSkill {
  const lines = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const opening = /^---[ \t]*\n/.exec(lines);
  if (opening === null) {
    return refused(
      "it does not begin with `---`",
      "Begin the file with `---`, `name:`, `description:` and `---`, a line each.",
    );
  }
  const rest = lines.slice(opening[0].length);
  const closing = /^---[ \t]*(?:\n|$)/m.exec(rest);
  if (closing === null) return refused("its front matter does not end", "Write a line `---` after the last key.");
  const head = Buffer.from(rest.slice(0, closing.index)).toString(); // a copy: a slice would keep the whole file in memory
  return { head, body: rest.slice(closing.index + closing[0].length).trim() };
}

type FrontMatterHead = Pick<SkillText, "fields" | "warnings">;

/** The line of the opening fence is put before it, so that line numbers are those of the file. */
function readHead(head: string): FrontMatterHead | (RefusedSkill & { readonly isSyntax?: true }) {
  try {
    const document = parseDocument(`\n${head}`, { schema: "failsafe", uniqueKeys: true, logLevel: "silent" });
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) {
      const [line = ""] = error.message.split("\n");
      const problem = `its front matter is not YAML: ${line.replace(/:$/, "")}`;
      return { problem, fix: fixes.get(error.code) ?? usualFix, isSyntax: true };
    }
    if (!isMap(document.contents))
      return refused("its front matter holds no keys", "Write `name:` and `description:` between the `---`.");
    if (usesAliases(document))
      return refused("its front matter uses aliases (`*name`), which are not read", "Write the values out.");
    return fieldsOf(document.contents);
  } catch (error) {
    // Deep nesting exhausts the stack of the parser.
    const name = error instanceof Error ? error.name : "unknown error";
    return refused(`its front matter cannot be read (${name})`, "Write plain keys and values without nesting.");
  }
}

const usualFix = "Correct the line; put text with `: ` or `#` in quotes.";
const fixes: ReadonlyMap<string, string> = new Map([
  ["DUPLICATE_KEY", "Keep one of the two; which one should win is not guessed."],
  ["TAB_AS_INDENT", "Indent with spaces."],
  ["MULTIPLE_DOCS", "Keep one document in the front matter."],
  ["TAG_RESOLVE_FAILED", "Write plain text; tags (`!…`) are not read."],
]);

/** A star without its anchor is a text without its quotes (`*.ts`). */
function usesAliases(document: Document.Parsed): boolean {
  const anchors = new Set<string>();
  const aliases: string[] = [];
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) aliases.push(node.source);
      else if ("anchor" in node && typeof node.anchor === "string") anchors.add(node.anchor);
    },
  });
  return aliases.some((name) => anchors.has(name));
}

/** Reads node by node, so nothing is expanded and no key can reach a prototype. */
function fieldsOf(map: YAMLMap): FrontMatterHead | RefusedSkill {
  const fields = new Map<string, HeadValue>();
  const warnings: string[] = [];
  for (const { key, value } of map.items) {
    const name = textOf(key);
    if (name === undefined) return refused("its front matter has a key that is no text", "Use plain names as keys.");
    if (!knownKeys.has(name)) {
      fields.set(name, undefined);
      continue;
    }
    const { field, isWhole } = fieldOf(value);
    if (isAlias(value) || (!isWhole && name.startsWith("allowed")))
      return refused(
        `\`${name}\` is not a text or a list of texts`,
        "Write the texts out; quote those that begin with `*`.",
      );
    if (!isWhole) warnings.push(`\`${name}\` holds more than texts; the rest was left out`);
    fields.set(name, field);
  }
  return { fields, warnings };
}

/** `isWhole` is false if a part was left out. */
function fieldOf(node: unknown): { readonly field: HeadValue; readonly isWhole: boolean } {
  if (isScalar(node)) return { field: String(node.value ?? ""), isWhole: true };
  if (isSeq(node)) {
    const texts = node.items.flatMap((item) => textOf(item) ?? []);
    return { field: texts, isWhole: texts.length === node.items.length };
  }
  if (!isMap(node)) return { field: undefined, isWhole: true };
  const texts = new Map<string, string>();
  for (const { key, value } of node.items) {
    const name = textOf(key);
    const text = value === null ? "" : textOf(value);
    if (name !== undefined && text !== undefined && name !== "__proto__") texts.set(name, text);
  }
  return { field: texts, isWhole: texts.size === node.items.length };
}

function textOf(node: unknown): string | undefined {
  return isScalar(node) ? String(node.value ?? "") : undefined;
}

const keyLine = /^([A-Za-z_][\w-]*):(?:[ \t]+(.*))?$/;
/** Begins as a list, a mapping, a block or a quoted text, which the parser reads. */
const special = /^(?:[[{|>&*!]|"(?:[^"\\]|\\.)*"\s*(?:#.*)?$|'(?:[^']|'')*'\s*(?:#.*)?$)/;

/**
 * Many published skills have a `: ` in a description without quotes, or a hint in brackets that we do not read. So plain
 * values of known keys get quotes, and other keys are emptied. Returns undefined if a line has any other form.
 */
function quoted(head: string): string | undefined {
  const lines: string[] = [];
  let isRead = true;
  for (const line of head.split("\n")) {
    const [, key, value = ""] = keyLine.exec(line) ?? [];
    if (key !== undefined) {
      isRead = knownKeys.has(key);
      const isPlain = value.trim() !== "" && !special.test(value);
      lines.push(isRead ? (isPlain ? `${key}: ${JSON.stringify(value.trim())}` : line) : `${key}:`);
    } else if (/^(?:\s|#|- |-?$)/.test(line)) {
      if (isRead) lines.push(line);
    } else return undefined;
  }
  return lines.join("\n");
}

function refused(problem: string, fix: string): RefusedSkill {
  return { problem, fix };
}
