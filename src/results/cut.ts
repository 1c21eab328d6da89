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
 * points (C21). Empty when not even the mark fits.
 */
export function cut(text: string, limitBytes: number): string {
  if (fits(text, limitBytes)) return text;
  if (limitBytes < markBytes) return "";
  const head = Buffer.allocUnsafe(limitBytes - markBytes);
  const { written } = encoder.encodeInto(text.slice(0, limitBytes), head);
  // Decoded anew: a slice would keep the whole text alive as long as its head.
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
