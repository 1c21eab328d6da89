import { type ContentBlock, type Cut, isJsonObject, referenceKey, type ToolOutcome } from "@postern/core";

const encoder = new TextEncoder();
const mark = "…";
const markBytes = 3;

/** Whether the text has at most this many UTF-8 bytes. Usually its length alone decides. */
export function fits(text: string, limitBytes: number): boolean {
  if (text.length > limitBytes) return false;
  return text.length * 3 <= limitBytes || Buffer.byteLength(text) <= limitBytes;
}

/**
 * The text, or its beginning with "…" when it is longer: at most `limitBytes` of UTF-8 with the mark, cut between code
 * points. Empty when the mark does not fit.
 */
export function cut(text: string, limitBytes: number): string {
  if (fits(text, limitBytes)) return text;
  if (limitBytes < markBytes) return "";
  const head = Buffer.allocUnsafe(limitBytes - markBytes);
  const { written } = encoder.encodeInto(text.slice(0, limitBytes), head);
  // Decoded again, because a slice would keep the whole text in memory.
  return head.toString("utf8", 0, written) + mark;
}

/** As `cut`, but a longer text keeps its beginning and its end in equal parts. The end begins at a line break if it has one. */
export function cutMiddle(text: string, limitBytes: number): string {
  if (fits(text, limitBytes)) return text;
  const head = cut(text, Math.ceil(limitBytes / 2));
  const room = limitBytes - Buffer.byteLength(head);
  if (head === "" || room === 0) return head;
  const bytes = Buffer.from(text.slice(-room));
  let start = bytes.length - room;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1; // the rest of a character
  const tail = bytes.toString("utf8", start);
  return head + tail.slice(Math.max(0, tail.indexOf("\n")));
}

/** The beginning of a text that may be huge, without half of a surrogate pair at the end. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/**
 * Adds a sentence to the text of an outcome that shows only a part of the result: how much is shown, how much exists,
 * how to read on. Other outcomes are returned unchanged.
 *
 * @param readOn how this reader continues to read the artifact at a byte, as the end of a sentence. A tool that reads on itself
 * says so instead
 */
export function withCutNote(outcome: ToolOutcome, readOn: (digest: string, fromByte: number) => string): ToolOutcome {
  const { artifact, cut, text, content } = outcome;
  if (artifact === undefined || cut === undefined) return outcome;
  const how = cut.readOn ?? readOn(artifact, cut.continuesAt ?? 0);
  const note = `[${sizesOf(cut)} To read on, ${how}.]`;
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

/** Whether the structured content only says where the whole result is. A reader that expects the tool's own data cannot use it. */
export function isStandIn({ artifact, cut, structured }: ToolOutcome): boolean {
  return (
    artifact !== undefined &&
    cut !== undefined &&
    isJsonObject(structured) &&
    structured[referenceKey] === artifact &&
    cut.isBrief !== true
  );
}
