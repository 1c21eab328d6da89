import { Buffer } from "node:buffer";
import { Rewriting, type Rewritten, thenRewrite } from "./rewritten.ts";

/** U+00A0 to U+00FF in order. */
const latin =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para " +
  "middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave " +
  "Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute " +
  "Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave " +
  "iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

/** The characters that encoders write by name. */
const codes: ReadonlyMap<string, number> = new Map([
  ...latin.split(" ").map((name, i): [string, number] => [name, 0xa0 + i]),
  ...Object.entries({
    ...{ amp: "&", AMP: "&", lt: "<", LT: "<", gt: ">", GT: ">", quot: '"', QUOT: '"', apos: "'", Tab: "\t" },
    ...{ NewLine: "\n", excl: "!", num: "#", dollar: "$", percnt: "%", lpar: "(", rpar: ")", ast: "*", plus: "+" },
    ...{ comma: ",", period: ".", sol: "/", colon: ":", semi: ";", equals: "=", quest: "?", commat: "@", lsqb: "[" },
    ...{ lbrack: "[", bsol: "\\", rsqb: "]", rbrack: "]", Hat: "^", lowbar: "_", grave: "`", lcub: "{", lbrace: "{" },
    ...{ verbar: "|", vert: "|", rcub: "}", rbrace: "}", euro: "€", hyphen: "\u2010", dash: "\u2010" },
  }).map(([name, character]): [string, number] => [name, character.charCodeAt(0)]),
]);

/** @param name without `&` and `;`. Returns -1 for an unknown entity. */
function entityCode(name: string): number {
  const [, hex, decimal] = name.startsWith("#") ? (/^#(?:[xX]([0-9a-fA-F]+)|([0-9]+))$/.exec(name) ?? []) : [];
  if (hex !== undefined) return Number.parseInt(hex, 16);
  if (decimal !== undefined) return Number.parseInt(decimal, 10);
  return codes.get(name) ?? -1;
}

const backslash = 92;
const percent = 37;
const ampersand = 38;
const quote = 39;
const semicolon = 59;
const equals = 61;
/** A number in an entity may have leading zeros. Their count is bounded, so that the redactor's `reach` is. */
const longestEntity = 12;

/** Length of `\u{10ffff}`. */
const longestBraced = 10;

/** The first character of an escape. */
export type Sign = "\\" | "%" | "&" | "'";

const beginnings: Readonly<Record<Sign, readonly string[]>> = {
  "\\": ["\\"],
  "%": ["%"],
  "&": ["&"],
  "'": [`'"'"'`, "'\\''"],
};
const allSigns: readonly Sign[] = ["\\", "%", "&", "'"];

/** Which kinds of escapes a text may hold. */
export function signsIn(text: string): readonly Sign[] {
  return allSigns.filter((sign) => beginnings[sign].some((beginning) => text.includes(beginning)));
}

/**
 * The text with each escaped character decoded, one level of escaping at a time: backslashes (JSON, programming
 * languages, shells), percent-encoding, entities of HTML and XML, quotes in single quotes of a shell. Returns undefined
 * when nothing is escaped.
 *
 * @param only the one kind of escape to decode; by default all
 */
export function undoEscapes(text: string, only?: Sign): Rewritten | undefined {
  const signs = signsIn(text);
  if (signs.length === 0 || (only !== undefined && !signs.includes(only))) return undefined;
  const units = new Uint16Array(text.length); // an escape is longer than its character
  let length = 0;
  let copied = 0;
  const copyTo = (end: number): void => {
    while (copied < end) units[length++] = text.charCodeAt(copied++);
  };
  scan(text, only, (start, end, code) => {
    copyTo(start);
    copied = end;
    if (code > 0xffff) units[length++] = 0xd7c0 + (code >> 10);
    units[length++] = code > 0xffff ? 0xdc00 + (code & 0x3ff) : code;
  });
  if (copied === 0) return undefined;
  copyTo(text.length);
  let mapped: Rewritten | undefined; // made only when an escape is found
  return {
    text: Buffer.from(units.buffer, 0, 2 * length).toString("utf16le"),
    original: (span) => {
      mapped ??= recorded(text, only);
      return mapped.original(span);
    },
  };
}

/**
 * The text of a mail in quoted-printable without `=3D` and without lines that end with `=`. It is not decoded with the other
 * escapes, because `=` stands before a value in addresses and settings.
 */
export function undoQuotedPrintable(text: string): Rewritten | undefined {
  if (!/=(?:3d|[89a-f][0-9a-f]|\r?\n)/i.test(text)) return undefined; // each such mail has one of them
  const joined = replacedAtEquals(text, (at) => {
    const end = text.charAt(at + 1) === "\r" ? at + 2 : at + 1;
    return text.charAt(end) === "\n" ? { end: end + 1, by: "" } : undefined;
  });
  const decode = (whole: string): Rewritten | undefined =>
    replacedAtEquals(whole, (at) => {
      const found = encodedBytes(whole, at, equals);
      return found === none ? undefined : { end: at + (found & 15), by: String.fromCodePoint(found >> 4) };
    });
  return joined === undefined ? decode(text) : (thenRewrite(joined, decode) ?? joined);
}

function replacedAtEquals(
  text: string,
  escapeFrom: (at: number) => { readonly end: number; readonly by: string } | undefined,
): Rewritten | undefined {
  const rewriting = new Rewriting(text);
  for (let at = text.indexOf("="); at >= 0; ) {
    const found = escapeFrom(at);
    if (found !== undefined) rewriting.replace(at, found.end, found.by);
    at = text.indexOf("=", found?.end ?? at + 1);
  }
  return rewriting.isSame ? undefined : rewriting.finish();
}

function recorded(text: string, only: Sign | undefined): Rewritten {
  const rewriting = new Rewriting(text);
  scan(text, only, (start, end, code) => rewriting.replace(start, end, String.fromCodePoint(code)));
  return rewriting.finish();
}

function scan(text: string, only: Sign | undefined, visit: (start: number, end: number, code: number) => void): void {
  const wanted = only?.charCodeAt(0);
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign !== backslash && sign !== percent && sign !== ampersand && sign !== quote) continue;
    if (wanted !== undefined && sign !== wanted) continue;
    const found = escapeAt(text, at, sign);
    if (found === none) continue;
    visit(at, at + (found & 15), found >> 4);
    at += (found & 15) - 1;
  }
}

/** A code point and the length of its escape in one number, to avoid an allocation for every escape of a long text. */
function escapeOf(code: number, length: number): number {
  return code < 0 || code > 0x10ffff ? none : (code << 4) | length;
}
const none = 0;

function escapeAt(text: string, at: number, sign: number): number {
  switch (sign) {
    case backslash:
      return afterBackslash(text, at);
    case percent:
      return percentEncoded(text, at);
    case ampersand:
      return entity(text, at);
    default: // a quote inside single quotes of a shell
      if (text.startsWith(`'"'"'`, at)) return escapeOf(quote, 5);
      return text.startsWith("'\\''", at) ? escapeOf(quote, 4) : none;
  }
}

const controls: Readonly<Record<string, number>> = { b: 8, t: 9, n: 10, f: 12, r: 13 };
const digitsAfter: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function afterBackslash(text: string, at: number): number {
  const name = text.charAt(at + 1);
  if (!isAlphanumeric(text.charCodeAt(at + 1))) return name === "" ? none : escapeOf(name.charCodeAt(0), 2);
  const control = controls[name];
  if (control !== undefined) return escapeOf(control, 2);
  const digits = digitsAfter[name];
  if (digits === undefined) return none;
  if (name !== "u" || text.charAt(at + 2) !== "{") return escapeOf(hexAt(text, at + 2, digits), 2 + digits);
  const end = at + 3 + text.slice(at + 3, at + longestBraced).indexOf("}"); // not in the whole text, which may have no other brace
  return end < at + 3 ? none : escapeOf(hexAt(text, at + 3, end - at - 3), end - at + 1);
}

function percentEncoded(text: string, at: number): number {
  if (text.charAt(at + 1) === "u") return escapeOf(hexAt(text, at + 2, 4), 6);
  return encodedBytes(text, at, percent);
}

/** A character of UTF-8 whose bytes each have the sign before them. */
function encodedBytes(text: string, at: number, sign: number): number {
  const first = hexAt(text, at + 1, 2);
  if (first < 0) return none;
  const more = first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  let code = more === 0 ? first : first & (0x3f >> more);
  for (let i = 1; i <= more; i += 1) {
    const next = text.charCodeAt(at + 3 * i) === sign ? hexAt(text, at + 3 * i + 1, 2) : -1;
    if (next >> 6 !== 2) return escapeOf(first, 3); // a byte of Latin-1
    code = (code << 6) | (next & 0x3f);
  }
  return escapeOf(code, 3 + 3 * more);
}

function entity(text: string, at: number): number {
  const latest = Math.min(text.length, at + longestEntity);
  let end = at + 1;
  while (end < latest && text.charCodeAt(end) !== semicolon) end += 1;
  return end === latest ? none : escapeOf(entityCode(text.slice(at + 1, end)), end - at + 1);
}

/** Returns -1 when the digits are not hex. */
function hexAt(text: string, at: number, digits: number): number {
  let value = digits > 0 ? 0 : -1;
  for (let i = at; i < at + digits; i += 1) {
    const code = text.charCodeAt(i) | 32;
    if (code >= 48 && code <= 57) value = value * 16 + code - 48;
    else if (code >= 97 && code <= 102) value = value * 16 + code - 87;
    else return -1;
  }
  return value;
}

function isAlphanumeric(code: number): boolean {
  const lower = code | 32;
  return (code >= 48 && code <= 57) || (lower >= 97 && lower <= 122);
}
