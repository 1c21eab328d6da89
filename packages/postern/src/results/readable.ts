import { type ContentBlock, type Json, type JsonObject, showHidden, type ToolOutcome } from "@postern/core";
import { cut } from "./cut.ts";

const byteOrderMark = "\u{feff}";

/** An untrusted text with its hidden characters shown, for a model. The byte order mark of a file is removed. */
export function readable(text: string): string {
  return showHidden(text.startsWith(byteOrderMark) ? text.slice(1) : text);
}

/** The most bytes that stand for one hidden character: `[U+200B]`. A longer code has two UTF-16 units. */
const codeBytes = 8;

/** The UTF-8 bytes of a text with its hidden characters shown. */
export function readableBytes(text: string): number {
  const bytes = Buffer.byteLength(text);
  return bytes === text.length ? bytes : Buffer.byteLength(readable(text)); // ASCII hides nothing
}

/** Whether a text has at most this many UTF-8 bytes when its hidden characters are shown. Usually its length alone decides. */
export function fitsReadable(text: string, limitBytes: number): boolean {
  if (text.length > limitBytes + 1) return false; // one character may be a byte order mark
  return text.length * codeBytes <= limitBytes || readableBytes(text) <= limitBytes;
}

/** As `cut`, but with its hidden characters shown the beginning still has at most `limitBytes`. */
export function cutReadable(text: string, limitBytes: number): string {
  let room = limitBytes;
  for (;;) {
    const head = cut(text, room);
    const bytes = readableBytes(head);
    if (bytes <= limitBytes) return head;
    room = Math.min(room - 1, Math.floor((room * limitBytes) / bytes));
  }
}

/**
 * Shows hidden characters in the texts of an outcome that leaves the runtime. Structured values, bytes and artifacts
 * stay unchanged, because programs compare them and write them back. A script is a program, so it gets the texts
 * unchanged too.
 *
 * @returns the same outcome when nothing is hidden
 */
export function readableOutcome(outcome: ToolOutcome): ToolOutcome {
  const { text, content, summary, refusal, notes } = outcome;
  const blocks = content.map(readableBlock);
  const shown = {
    text: readable(text),
    content: blocks.every((block, at) => block === content[at]) ? content : Object.freeze(blocks),
    ...(summary !== undefined && { summary: readable(summary) }),
    ...(refusal !== undefined && { refusal: readableRefusal(refusal) }),
    ...(notes !== undefined && { notes: Object.freeze(notes.map(readable)) }),
  };
  const isSame =
    shown.text === text &&
    shown.content === content &&
    shown.summary === summary &&
    shown.refusal === refusal &&
    (notes ?? []).every((note, at) => note === shown.notes?.[at]);
  return isSame ? outcome : Object.freeze({ ...outcome, ...shown } as ToolOutcome); // the same kind of outcome
}

function readableRefusal<Refusal extends { readonly message: string }>(refusal: Refusal): Refusal {
  const message = readable(refusal.message);
  return message === refusal.message ? refusal : Object.freeze({ ...refusal, message });
}

function readableBlock(block: ContentBlock): ContentBlock {
  if ((block.type !== "text" && block.type !== "resource") || block.text === undefined) return block;
  const text = readable(block.text);
  return text === block.text ? block : Object.freeze({ ...block, text });
}

/** The schema with hidden characters shown in its texts. Returns the same schema when there are none. */
export function readableSchema(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema);
  return showHidden(text) === text ? schema : (shown(schema) as JsonObject); // an object stays an object
}

function shown(value: Json): Json {
  if (typeof value === "string") return showHidden(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(shown));
  return Object.freeze(
    Object.fromEntries(Object.entries(value).map(([name, member]) => [showHidden(name), shown(member)])),
  );
}
