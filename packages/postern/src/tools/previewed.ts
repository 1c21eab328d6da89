import { defined, isRecord, type Json, messageOf, type Preview, shortened } from "@postern/core";
import { plain } from "./schema/plain.ts";

/** A person reads the text and a record keeps it, so a longer text is cut. */
const maxTextLength = 65_536;

/**
 * The answer of a tool's preview, as a Preview. `null` means that the tool offers none for this call. Never throws.
 *
 * @param call the call in a few words, shown when there is nothing else
 */
export function toPreview(answer: unknown, call: string): Preview {
  if (answer === null || answer === undefined) return noPreview(call);
  try {
    if (typeof answer === "string") return { summary: cut(answer), supported: true };
    const kind = Array.isArray(answer) ? "a list" : `a ${typeof answer}`;
    if (!isRecord(answer)) return noPreview(call, `the tool's preview answered with ${kind}`);
    if (answer["supported"] === false)
      return noPreview(call, typeof answer["problem"] === "string" ? cut(answer["problem"]) : undefined);
    const { summary, diff } = answer;
    if (typeof summary !== "string") return noPreview(call, "the tool's preview has no `summary`");
    const details = detailsOf(answer["details"]);
    const table = tableOf(answer["table"]);
    const message = messageFrom(answer["message"]);
    const optional = defined({ diff: typeof diff === "string" ? cut(diff) : undefined, table, message, details });
    return { summary: cut(summary), ...optional, supported: true };
  } catch (error) {
    return noPreview(call, `the tool's preview cannot be shown: ${cut(messageOf(error))}`);
  }
}

/** @param problem why the preview of a tool that offers one failed */
export function noPreview(call: string, problem?: string): Preview {
  return { summary: call, supported: false, ...defined({ problem }) };
}

/** Returns undefined unless there are rows of cells and columns. A cell that is not text is shown as JSON. */
function tableOf(given: unknown): Preview["table"] {
  if (!isRecord(given)) return undefined;
  const { columns, rows } = given;
  if (!Array.isArray(columns) || !Array.isArray(rows) || !rows.every(Array.isArray)) return undefined;
  const row = (cells: readonly unknown[]): readonly string[] => cells.slice(0, mostColumns).map(cell);
  return { columns: row(columns), rows: rows.slice(0, mostRows).map(row) };
}
const mostColumns = 32;
const mostRows = 500;
const maxCellLength = 1000;

function cell(value: unknown): string {
  return shortened(typeof value === "string" ? value : plain(value).text, maxCellLength);
}

function messageFrom(given: unknown): Preview["message"] {
  if (!isRecord(given)) return undefined;
  const { to, subject, body } = given;
  if (typeof body !== "string") return undefined;
  const receivers = typeof to === "string" ? [to] : Array.isArray(to) ? to : [];
  return {
    ...(receivers.length > 0 && { to: receivers.slice(0, mostRows).map(cell) }),
    ...(typeof subject === "string" && { subject: shortened(subject, maxCellLength) }),
    body: cut(body),
  };
}

function detailsOf(details: unknown): Json | undefined {
  if (details === undefined) return undefined;
  const { text, value } = plain(details);
  return text.length > maxTextLength || value === undefined ? cut(text) : value;
}

function cut(text: string): string {
  return shortened(text, maxTextLength);
}
