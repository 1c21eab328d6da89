import { counted, type JsonObject } from "@postern/core";
import { cut, headOf } from "./cut.ts";
import { columnsOf, listed, type TableRows } from "./describe-json.ts";

/** Rows after this many characters are not counted. */
const mostScanned = 1024 * 1024;
const cellBytes = 40;
/** A field is cut to this length while it is read. */
const cellCharacters = 100;
/** A text without a media type is taken for CSV when this many rows have the columns of the first. */
const rowsCompared = 8;

/** A text read as delimited values. */
interface Delimited extends TableRows {
  /** Whether there are more rows than were counted. */
  readonly more: boolean;
}

/** The table in a text: any text of CSV or TSV type, and a text without a type whose rows clearly form columns. */
export function tableIn(text: string, essence: string | undefined): Delimited | undefined {
  const known = delimiters.get(essence ?? "");
  if (known !== undefined) return readRows(text, text.includes(known) ? known : guessed(text));
  if (essence !== undefined && essence !== "text/plain") return undefined;
  const delimiter = guessed(text);
  if (delimiter === undefined || !isPlainlyTable(text, delimiter)) return undefined;
  return readRows(text, delimiter);
}

const delimiters: ReadonlyMap<string, string> = new Map([
  ["text/csv", ","],
  ["text/tab-separated-values", "\t"],
]);

export function describeTable(table: Delimited | readonly JsonObject[]): string {
  const columns = "columns" in table ? table.columns : (columnsOf(table) ?? []);
  const rows = "columns" in table ? table.rows : table.length;
  const more = "columns" in table && table.more ? "more than " : "";
  const names = listed(columns, (name) => cut(name, cellBytes));
  return `table, ${counted(columns.length, "column")} (${names}), ${more}${counted(rows, "row")}`;
}

function guessed(text: string): string | undefined {
  const first = firstLine(text);
  return ["\t", ";", ",", "|"].find((delimiter) => first.includes(delimiter));
}

function firstLine(text: string): string {
  const end = text.indexOf("\n");
  return text.slice(0, Math.min(end < 0 ? text.length : end, 10_000)).replace(/\r$/, "");
}

/** Whether it has a header of short, different names, and rows with the same number of fields. Prose does not. */
function isPlainlyTable(text: string, delimiter: string): boolean {
  const widths: number[] = [];
  let header: readonly string[] = [];
  for (const row of rowsOf(text.slice(0, 64 * 1024), delimiter)) {
    if (widths.length === 0) header = row;
    widths.push(row.length);
    if (widths.length > rowsCompared) break;
  }
  const names = new Set(header.map((name) => name.trim()));
  const isHeader =
    names.size === header.length &&
    [...names].every((name) => name !== "" && name.length <= 40 && !/[.!?]$/.test(name));
  return widths.length >= 3 && header.length >= 2 && isHeader && widths.every((width) => width === header.length);
}

function readRows(text: string, delimiter = ","): Delimited | undefined {
  const isLong = text.length > mostScanned;
  let columns: readonly string[] | undefined;
  let rows = 0;
  for (const row of rowsOf(isLong ? text.slice(0, mostScanned) : text, delimiter)) {
    if (columns === undefined) columns = row.map((name) => name.trim());
    else rows += 1;
  }
  return columns === undefined ? undefined : { columns, rows, more: isLong };
}

/** Rows by RFC 4180: a quoted field may hold delimiters, line breaks and doubled quotes. Empty lines are skipped. */
function* rowsOf(text: string, delimiter: string): Generator<readonly string[]> {
  let fields: string[] = [];
  let from = 0;
  while (from < text.length) {
    const field = fieldAt(text, from, delimiter);
    fields.push(field.text);
    from = field.end + 1;
    if (text[field.end] === delimiter && from < text.length) continue;
    if (fields.length > 1 || fields[0] !== "") yield fields;
    fields = [];
  }
}

interface Field {
  readonly text: string;
  /** The position of its delimiter or line break, or the end of the text. */
  readonly end: number;
}

function fieldAt(text: string, from: number, delimiter: string): Field {
  if (text[from] !== '"') return plainField(text, from, delimiter);
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0)
      return { text: headOf(text.slice(from + 1, from + 1 + 2 * cellCharacters), cellCharacters), end: text.length };
    if (text[quote + 1] !== '"') {
      const quoted = text.slice(from + 1, quote).replaceAll('""', '"');
      const rest = plainField(text, quote + 1, delimiter);
      return { text: headOf(headOf(quoted, cellCharacters) + rest.text, cellCharacters), end: rest.end };
    }
    at = quote + 2;
  }
}

function plainField(text: string, from: number, delimiter: string): Field {
  const divider = delimiter.charCodeAt(0);
  let end = from;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === divider || code === 0x0a) break;
  }
  const last = text[end - 1] === "\r" && end > from ? end - 1 : end;
  return { text: headOf(text.slice(from, Math.min(last, from + 2 * cellCharacters)), cellCharacters), end };
}
