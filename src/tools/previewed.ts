import { messageOf } from "../core/fault.ts";
import type { Json } from "../core/json.ts";
import type { Preview } from "../core/outcome.ts";
import { isRecord } from "./kinds.ts";
import { plain, shortened } from "./schema/plain.ts";

/** A person reads it, a record keeps it: more than this is cut. */
const maxTextLength = 65_536;

/**
 * What a tool's preview answered, as a Preview. `null` means it offers none for this call (SPEC 4.7).
 *
 * @param call the call in a few words: what is shown when there is nothing else
 * Contract: never throws.
 */
export function toPreview(answer: unknown, call: string): Preview {
  if (answer === null || answer === undefined) return noPreview(call);
  try {
    if (typeof answer === "string") return { summary: cut(answer), supported: true };
    if (!isRecord(answer))
      return noPreview(
        call,
        `the tool's preview answered with ${Array.isArray(answer) ? "a list" : `a ${typeof answer}`}`,
      );
    if (answer["supported"] === false)
      return noPreview(call, typeof answer["problem"] === "string" ? cut(answer["problem"]) : undefined);
    const { summary, diff } = answer;
    if (typeof summary !== "string") return noPreview(call, "the tool's preview has no `summary`");
    const details = detailsOf(answer["details"]);
    const table = tableOf(answer["table"]);
    const message = messageFrom(answer["message"]);
    return {
      summary: cut(summary),
      ...(typeof diff === "string" && { diff: cut(diff) }),
      ...(table !== undefined && { table }),
      ...(message !== undefined && { message }),
      ...(details !== undefined && { details }),
      supported: true,
    };
  } catch (error) {
    return noPreview(call, `the tool's preview cannot be shown: ${cut(messageOf(error))}`);
  }
}

/** @param problem why there is none although the tool offers one; without it, the tool offers none */
export function noPreview(call: string, problem?: string): Preview {
  return { summary: call, supported: false, ...(problem !== undefined && { problem }) };
}

/** Anything but rows of cells beneath columns is no table; what is not text in a cell is shown as JSON. */
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
