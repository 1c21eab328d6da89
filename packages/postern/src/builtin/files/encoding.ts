/**
 * How the text of a file is encoded. UTF-8, and UTF-16 with its byte order mark, are found in the bytes. Every other
 * encoding must be named, because its bytes fit many.
 */
import { visible } from "@postern/core";
import { FileRejection } from "./guard/rejection.ts";
import { byteOrderMark, textIn } from "./text.ts";

/** A name of `TextDecoder`: `utf-8`, `utf-16le`, `windows-1252`. */
export type Encoding = string;

/** @throws FileRejection `encoding_unknown` */
export function encodingNamed(label: string): Encoding {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    const message = `was not used: ${visible(label)} is no encoding that is known here; name utf-8, utf-16le, windows-1252, shift_jis or another label of the web's Encoding Standard.`;
    throw new FileRejection("encoding_unknown", message);
  }
}

/** UTF-16 by its byte order mark. Returns undefined if these bytes do not begin such a text. */
export function markedEncoding(head: Buffer): Encoding | undefined {
  const order = head.subarray(0, 2).toString("hex");
  const encoding = order === "fffe" ? "utf-16le" : order === "feff" ? "utf-16be" : undefined;
  return encoding !== undefined && isBeginning(head, encoding) ? encoding : undefined;
}

/** A text without NUL that may be cut at its end. */
function isBeginning(head: Buffer, encoding: Encoding): boolean {
  try {
    return !new TextDecoder(encoding, { fatal: true }).decode(head, { stream: true }).includes("\0");
  } catch {
    return false;
  }
}

/** The encoding that is stated, else the one that the whole bytes show. @throws FileRejection `not_text` */
function encodingOf(bytes: Buffer, stated: Encoding | undefined): Encoding {
  if (stated !== undefined) return stated;
  const isUtf8 = textIn(bytes, { before: false, after: false }) !== undefined;
  const found = isUtf8 ? "utf-8" : markedEncoding(bytes);
  if (found === undefined) throw notText(bytes, bytes.length);
  return found;
}

/** All of the bytes as text, with its byte order mark. Returns undefined if they are no text in the encoding that is stated or shown. */
export function textFound(bytes: Buffer, stated?: Encoding): string | undefined {
  if (stated !== undefined) return decodedOr(bytes, stated);
  const found = textIn(bytes, { before: false, after: false });
  if (found !== undefined) return found.text;
  const marked = markedEncoding(bytes);
  return marked === undefined ? undefined : decodedOr(bytes, marked);
}

/** With its byte order mark. @throws FileRejection `not_text` */
export function decoded(bytes: Uint8Array, encoding: Encoding): string {
  const text = decodedOr(bytes, encoding);
  if (text !== undefined) return text;
  throw new FileRejection("not_text", `cannot be read as ${encoding}: its bytes are no text in that encoding.`);
}

function decodedOr(bytes: Uint8Array, encoding: Encoding): string | undefined {
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** @throws FileRejection `content_invalid` that names the first character that the encoding does not hold */
function encoded(text: string, encoding: Encoding): Buffer {
  if (encoding === "utf-8") return Buffer.from(text);
  if (encoding === "utf-16le") return Buffer.from(text, "utf16le");
  if (encoding === "utf-16be") return Buffer.from(text, "utf16le").swap16();
  const codes = codesOf(encoding);
  const bytes: number[] = [];
  for (const character of text) {
    const code = codes.get(character);
    if (code === undefined) {
      const point = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
      const message = `was not written: ${encoding} cannot hold \`${character}\` (U+${point}). Leave the character out, or write the whole file with another \`encoding\`.`;
      throw new FileRejection("content_invalid", message);
    }
    if (code > 0xff) bytes.push(code >> 8);
    bytes.push(code & 0xff);
  }
  return Buffer.from(bytes);
}

const codeTables = new Map<Encoding, ReadonlyMap<string, number>>();

/** Node can decode these encodings, not write them. The characters of one and of two bytes are asked of its decoder, once. */
function codesOf(encoding: Encoding): ReadonlyMap<string, number> {
  const known = codeTables.get(encoding);
  if (known !== undefined) return known;
  const codes = new Map<string, number>();
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  const add = (code: number, bytes: readonly number[]): void => {
    const text = decoder.decode(Uint8Array.from(bytes));
    const isOne = text !== "\ufffd" && [...text].length === 1;
    if (isOne && !codes.has(text)) codes.set(text, code);
  };
  for (let byte = 0; byte <= 0xff; byte += 1) add(byte, [byte]);
  for (let lead = 0x81; lead <= 0xfe; lead += 1)
    for (let trail = 0x40; trail <= 0xfe; trail += 1) add((lead << 8) | trail, [lead, trail]);
  codeTables.set(encoding, codes);
  return codes;
}

/**
 * Changes a text in the encoding that is stated, else in its own. The other bytes stay.
 *
 * @throws FileRejection
 */
export function revised(bytes: Buffer, change: (text: string) => string, stated?: Encoding): Buffer {
  const encoding = encodingOf(bytes, stated);
  const text = decoded(bytes, encoding);
  if (!encoded(text, encoding).equals(bytes))
    throw new FileRejection(
      "not_text",
      `was not changed: ${encoding} has characters with more than one code, and not all bytes would stay as they are.`,
    );
  return encoded(change(text), encoding);
}

interface ContentPlace {
  readonly stated: Encoding | undefined;
  /** The beginning of the file that is there. */
  readonly there: Buffer | undefined;
  readonly isAppended: boolean;
}

/**
 * Content as bytes: in the stated encoding, else in the encoding of the existing file, else in UTF-8. UTF-16 begins with its
 * byte order mark, because readers recognise it by that alone.
 *
 * @throws FileRejection
 */
export function contentBytes(content: string, { stated, there, isAppended }: ContentPlace): Buffer {
  const isNew = there === undefined || there.length === 0;
  const encoding = stated ?? (isNew ? undefined : markedEncoding(there)) ?? "utf-8";
  const wouldMix = isAppended && !isNew && stated === undefined && encoding === "utf-8" && /[^\0-\x7f]/.test(content);
  if (wouldMix && textIn(there, { before: false, after: true }) === undefined && likelyEncoding(there) !== undefined)
    throw notText(there);
  const needsMark = encoding.startsWith("utf-16") && (isNew || !isAppended) && !content.startsWith(byteOrderMark);
  return encoded(needsMark ? byteOrderMark + content : content, encoding);
}

/** Says what the bytes look like and how to go on. */
export function notText(head: Buffer, size?: number): FileRejection {
  const likely = likelyEncoding(head);
  const bytes = size === undefined ? "" : `has ${size} bytes and `;
  const next =
    likely === undefined
      ? "Read it by `first_byte` and `bytes`."
      : `It looks like ${likely}: call again with \`encoding: "${likely}"\`, or with another one if that reads wrong.`;
  return new FileRejection("not_text", `${bytes}is not UTF-8 text. ${next}`);
}

/** What text without UTF-8 and without a mark usually is. Returns undefined for bytes that look like no text. */
export function likelyEncoding(head: Buffer): Encoding | undefined {
  if (!head.includes(0)) return hasControls(head) ? undefined : "windows-1252";
  return ["utf-16le", "utf-16be"].find((encoding) => {
    const high = encoding === "utf-16le" ? 1 : 0;
    const zeros = head.filter((byte, i) => byte === 0 && i % 2 === high).length;
    return zeros * 4 > head.length && isBeginning(head, encoding);
  });
}

/** Tab, line breaks, form feed and escape are in texts. */
function hasControls(bytes: Buffer): boolean {
  return bytes.some((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b));
}
