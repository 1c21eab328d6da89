/** TOML files of clients. Only the text of our own table is written; the parser checks the result. */
import { isRecord, type Json } from "@postern/core";
import { ClientSyntaxProblem, type EditPlace, type FileFormat } from "./client-format.ts";

export async function tomlFormat(): Promise<FileFormat> {
  const { parse, stringify, TomlError } = await import("smol-toml");
  return {
    parse(text) {
      try {
        return parse(text);
      } catch (error) {
        if (!(error instanceof TomlError)) throw error;
        // The parser's message quotes lines of the file, which may hold secrets.
        throw new ClientSyntaxProblem(`is not valid TOML (line ${error.line}, column ${error.column})`);
      }
    },
    added(text, { servers, name, entry }) {
      const eol = text.includes("\r\n") ? "\r\n" : "\n";
      const table = stringify({ [servers]: { [name]: isRecord(entry) ? (entry as Record<string, Json>) : {} } });
      const before = text === "" || text.endsWith("\n") ? text : `${text}${eol}`;
      return `${before}${before === "" ? "" : eol}${table.trim().replaceAll("\n", eol)}${eol}`;
    },
    removed(text, place) {
      const lines = linesOf(text);
      const own = ownLines(lines, place);
      const first = own.indexOf(true);
      const isBlankBefore = first > 0 && (lines[first - 1] ?? "").trim() === "";
      return lines.filter((_, i) => own[i] !== true && !(isBlankBefore && i === first - 1)).join("");
    },
    masked(text, place) {
      const lines = linesOf(text);
      const own = ownLines(lines, place);
      return lines.map((line, i) => (own[i] === true || line.trim() === "" ? line : "…\n")).join("");
    },
  };
}

/** Each with its line break. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The lines of our table and of those below it: from its heading to the next heading, without what stands before that. */
function ownLines(lines: readonly string[], { servers, name }: EditPlace): readonly boolean[] {
  const key = (word: string): string => `(?:${word}|"${word}"|'${word}')`;
  const ownHeading = new RegExp(`^\\s*\\[\\s*${key(servers)}\\s*\\.\\s*${key(name)}\\s*[.\\]]`);
  let isOwn = false;
  const own = lines.map((line) => {
    if (ownHeading.test(line)) isOwn = true;
    else if (/^\s*\[/.test(line)) isOwn = false;
    return isOwn;
  });
  // Comments and empty lines before the next heading belong to that.
  for (let at = own.length - 1; at >= 0; at -= 1)
    if (own[at] === true && own[at + 1] !== true && /^\s*(?:#.*)?$/.test(lines[at] ?? "")) own[at] = false;
  return own;
}
