/** JSON files of clients, with or without comments and trailing commas. */
import { isRecord, type Json } from "@postern/core";
import type { Edit, JSONPath, Node, ParseError } from "jsonc-parser";
import { ClientSyntaxProblem, type EditPlace, type FileFormat } from "./client-format.ts";

type Parser = typeof import("jsonc-parser");
const options = { allowTrailingComma: true } as const;

export async function jsonFormat(): Promise<FileFormat> {
  const parser = await import("jsonc-parser");
  const { applyEdits, findNodeAtLocation, parseTree } = parser;
  const nodeAt = (text: string, path: JSONPath): Node | undefined => {
    const root = parseTree(text, [], options);
    return root === undefined ? undefined : findNodeAtLocation(root, path);
  };
  /** Adds the last member of an object, or the last item of an array. Makes them when they are not there. */
  const appended = (
    text: string,
    path: JSONPath,
    [key, value]: readonly [key: string | undefined, value: Json],
  ): string => {
    const node = nodeAt(text, path);
    if (node !== undefined) return applyEdits(text, appendEdits(parser, text, node, memberOf(key, value)));
    const made: Json = key === undefined ? [value] : { [key]: value };
    return appended(text, path.slice(0, -1), [String(path.at(-1)), made]);
  };
  const without = (text: string, path: JSONPath): string => {
    const node = nodeAt(text, path);
    return node === undefined ? text : applyEdits(text, removeEdits(parser, text, memberNode(node)));
  };

  return {
    parse: (text) => parsed(parser, text),
    added(text, { servers, name, entry, input }) {
      const withServer = appended(text.trim() === "" ? "{}\n" : text, [servers], [name, entry]);
      if (input === undefined || inputAt(parsed(parser, text), input.id) >= 0) return withServer;
      return appended(withServer, ["inputs"], [undefined, input]);
    },
    removed(text, { servers, name, input }) {
      const rest = without(text, [servers, name]);
      const at = inputAt(parsed(parser, text), input?.id);
      return at < 0 ? rest : without(rest, ["inputs", at]);
    },
    masked: (text, place) => applyEdits(text, maskEdits(parser, text, place)),
  };
}

function parsed({ parse, printParseErrorCode }: Parser, text: string): unknown {
  if (text.trim() === "") return {};
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, options);
  const [first] = errors;
  if (first === undefined) return value;
  const what = printParseErrorCode(first.error)
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
  throw new ClientSyntaxProblem(`is not valid JSON (${lineAndColumn(text, first.offset)}: ${what})`);
}

function lineAndColumn(text: string, offset: number): string {
  const lines = text.slice(0, offset).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

/** `-1`: there is none. */
function inputAt(document: unknown, id: string | undefined): number {
  const inputs = isRecord(document) ? document["inputs"] : undefined;
  if (id === undefined || !Array.isArray(inputs)) return -1;
  return inputs.findIndex((one) => isRecord(one) && one["id"] === id);
}

/** The text of a member at an indentation. */
function memberOf(key: string | undefined, value: Json): (indent: string, unit: string) => string {
  return (indent, unit) => {
    const text = JSON.stringify(value, undefined, unit).replaceAll("\n", `\n${indent}`);
    return key === undefined ? text : `${JSON.stringify(key)}: ${text}`;
  };
}

/** A comma after the last member, and the new one before the closing bracket. Comments stay where they are. */
function appendEdits(
  parser: Parser,
  text: string,
  node: Node,
  member: (indent: string, unit: string) => string,
): Edit[] {
  const [, unit = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  const outer = indentAt(text, node.offset);
  const last = node.children?.at(-1);
  const indent = last !== undefined && isFirstOnLine(text, last.offset) ? indentAt(text, last.offset) : outer + unit;
  const close = node.offset + node.length - 1;
  const end = text.slice(0, close).trimEnd().length;
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  const tail = /[\r\n]/.test(text.slice(end, close)) ? "" : `\n${outer}`;
  const content = `\n${indent}${member(indent, unit)}${tail}`.replaceAll("\n", lineEnd);
  const addition = { offset: end, length: 0, content };
  if (last === undefined || commaAfter(parser, text, last) !== undefined) return [addition];
  const lastEnd = last.offset + last.length;
  if (lastEnd === end) return [{ ...addition, content: `,${content}` }];
  return [{ offset: lastEnd, length: 0, content: "," }, addition];
}

/** The member with the white space before it, and one comma. */
function removeEdits(parser: Parser, text: string, member: Node): Edit[] {
  const offset = text.slice(0, member.offset).trimEnd().length;
  const end = member.offset + member.length;
  const comma = commaAfter(parser, text, member);
  const removal = (to: number): Edit => ({ offset, length: to - offset, content: "" });
  const siblings = member.parent?.children ?? [];
  const before = siblings[siblings.indexOf(member) - 1];
  if (comma !== undefined)
    return comma === end ? [removal(end + 1)] : [removal(end), { offset: comma, length: 1, content: "" }];
  const commaBefore = before === undefined ? undefined : commaAfter(parser, text, before);
  if (commaBefore === undefined) return [removal(end)];
  if (commaBefore === offset - 1) return [{ offset: commaBefore, length: end - commaBefore, content: "" }];
  return [{ offset: commaBefore, length: 1, content: "" }, removal(end)];
}

/** The value of a member belongs to its property. */
function memberNode(node: Node): Node {
  return node.parent?.type === "property" ? node.parent : node;
}

/** The place of the comma that follows, behind white space and comments. */
function commaAfter({ createScanner }: Parser, text: string, node: Node): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(node.offset + node.length);
  scanner.scan();
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : undefined;
}

function lineBefore(text: string, offset: number): string {
  return text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
}

function isFirstOnLine(text: string, offset: number): boolean {
  return text.lastIndexOf("\n", offset - 1) >= 0 && lineBefore(text, offset).trim() === "";
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(lineBefore(text, offset))?.[0] ?? "";
}

/** Every text and number outside of our server, and every comment, may be a secret. */
function maskEdits(parser: Parser, text: string, place: EditPlace): Edit[] {
  const ownInput = inputAt(parsed(parser, text), place.input?.id);
  const isOwn = ([first, second]: JSONPath): boolean =>
    (first === place.servers && second === place.name) || (first === "inputs" && second === ownInput);
  const edits: Edit[] = [];
  parser.visit(
    text,
    {
      onLiteralValue: (value: unknown, ...[offset, length, , , path]) => {
        if (value === null || typeof value === "boolean" || isOwn(path())) return;
        edits.push({ offset, length, content: typeof value === "string" ? '"…"' : "…" });
      },
      onComment: (offset, length) => {
        edits.push({ offset, length, content: text.startsWith("//", offset) ? "// …" : "/* … */" });
      },
    },
    options,
  );
  return edits;
}
