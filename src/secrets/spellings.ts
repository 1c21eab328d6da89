import { undoEscapes } from "./escapes.ts";
import { fewestCharacters } from "./secret-name.ts";

/** Escaping of escaped text, to this depth: JSON in JSON in JSON, made of a page of HTML with addresses in it. */
export const deepestEscaping = 6;

/**
 * What is searched for to find a value: as it is, as hex, and inside base64, where it looks different at each of the
 * three places it can have among the bytes around it; the last two also of its UTF-16.
 * Escapes and wrapped lines are not here: the redactor searches the text again without them.
 */
export function spellingsOf(value: string): readonly string[] {
  const lines = value.replace(/\r?\n/g, "\r\n"); // several lines may travel with the other system's line ends
  return [...new Set([value, lines, value.toWellFormed()].flatMap((text) => [...unescaped(text), ...encoded(text)]))];
}

/** A value that holds an escape by itself looks otherwise in a text whose escapes were undone. */
function unescaped(value: string): readonly string[] {
  const levels = [value];
  for (let text = undoEscapes(value)?.text; text !== undefined; text = undoEscapes(text)?.text) {
    if (text.length < fewestCharacters || levels.length > deepestEscaping) break;
    levels.push(text);
  }
  return levels.flatMap((text) => [
    text,
    text.replaceAll(" ", "+"), // forms
    text.replaceAll('"', '""'), // CSV
    text.replaceAll("'", "''"), // SQL and YAML
  ]);
}

function encoded(value: string): readonly string[] {
  return [...asBytes(Buffer.from(value)), ...wide(value)];
}

/**
 * UTF-16 read as bytes, as it is met in PowerShell's `-EncodedCommand` and in registry dumps. Latin text without its last
 * byte is the same in both byte orders.
 */
function wide(value: string): readonly string[] {
  const bytes = Buffer.from(value, "utf16le");
  const isLatin = bytes.every((byte, i) => i % 2 === 0 || byte === 0);
  const orders = isLatin ? [bytes.subarray(0, -1)] : [bytes, Buffer.from(bytes).swap16()];
  return orders.flatMap((order) => [order.toString("latin1"), ...asBytes(order)]);
}

function asBytes(bytes: Buffer): readonly string[] {
  const hex = bytes.toString("hex");
  const base64 = base64At(bytes);
  return [hex, hex.toUpperCase(), ...base64, ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"))];
}

/** The characters that hold nothing but bits of the value; those shared with a neighbour depend on it and are left out. */
function base64At(bytes: Buffer): readonly string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
}
