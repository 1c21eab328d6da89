import { isJsonObject } from "../core/json.ts";
import type { ContentBlock, Cut, ToolOutcome } from "../core/outcome.ts";
import { referenceKey } from "./artifact-store.ts";

const encoder = new TextEncoder();
const mark = "…";
const markBytes = 3;

/** Whether the text has at most so many UTF-8 bytes; most texts are answered by their length alone. */
export function fits(text: string, limitBytes: number): boolean {
  if (text.length > limitBytes) return false;
  return text.length * 3 <= limitBytes || Buffer.byteLength(text) <= limitBytes;
}

/**
 * The text, or its head with "…" when it is longer: at most `limitBytes` of UTF-8, the mark included, cut between two code
 * points. Empty when not even the mark fits.
 */
export function cut(text: string, limitBytes: number): string {
  if (fits(text, limitBytes)) return text;
  if (limitBytes < markBytes) return "";
  const head = Buffer.allocUnsafe(limitBytes - markBytes);
  const { written } = encoder.encodeInto(text.slice(0, limitBytes), head);
  // Decoded again: a slice would keep the whole text alive as long as its head.
  return head.toString("utf8", 0, written) + mark;
}

/** As `cut`, but of what is longer the end counts as much as the beginning; the end begins with a line where it has one. */
export function cutMiddle(text: string, limitBytes: number): string {
  if (fits(text, limitBytes)) return text;
  const head = cut(text, Math.ceil(limitBytes / 2));
  const room = limitBytes - Buffer.byteLength(head);
  if (head === "" || room === 0) return head;
  const bytes = Buffer.from(text.slice(-room));
  let start = bytes.length - room;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1; // the rest of a letter
  const tail = bytes.toString("utf8", start);
  return head + tail.slice(Math.max(0, tail.indexOf("\n")));
}

/** The first so many characters, without half of a surrogate pair at their end: for looking at a text that may be huge. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/**
 * The outcome with a sentence at the end of its text where only a part of the result is in it: how much is shown, how much
 * there is, how to read on. Any other outcome as it is.
 *
 * @param readOn what this reader does to read the artifact from a byte on, as the end of a sentence
 */
export function withCutNote(outcome: ToolOutcome, readOn: (digest: string, fromByte: number) => string): ToolOutcome {
  const { artifact, cut, text, content } = outcome;
  if (artifact === undefined || cut === undefined) return outcome;
  const note = `[${sizesOf(cut)} To read on, ${readOn(artifact, cut.continuesAt ?? 0)}.]`;
  return { ...outcome, text: joined(text, note), content: withLastText(content, note) };
}

function sizesOf({ shownBytes, totalBytes, continuesAt }: Cut): string {
  if (continuesAt === undefined)
    return `Cut: ${shownBytes} bytes of its text are shown; the whole result is JSON of ${totalBytes} bytes.`;
  return `Cut: the first ${shownBytes} of ${totalBytes} bytes are shown.`;
}

function joined(text: string, note: string): string {
  return text === "" ? note : `${text}\n\n${note}`;
}

function withLastText(content: readonly ContentBlock[], note: string): readonly ContentBlock[] {
  const at = content.findLastIndex(({ type }) => type === "text");
  const last = content[at];
  if (last?.type !== "text") return [{ type: "text", text: note }, ...content];
  return content.with(at, { ...last, text: joined(last.text, note) });
}

/** Structured content that only says where the whole of it is: no reader that expects the tool's own data can use it. */
export function isStandIn({ artifact, cut, structured }: ToolOutcome): boolean {
  return (
    artifact !== undefined &&
    cut !== undefined &&
    isJsonObject(structured) &&
    structured[referenceKey] === artifact &&
    cut.isBrief !== true
  );
}
