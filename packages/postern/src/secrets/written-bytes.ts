import { Rewriting, type Rewritten } from "./rewritten.ts";
import type { TextSpan } from "./secret-store.ts";

/**
 * Bytes that a text writes one by one: hex with separators, the lines of a hex dump, a list of decimal numbers. Each
 * reading has these bytes as plain hex, which the needles know, and leaves out the rest of the text. A regular expression
 * finds where bytes may begin, so other text costs little.
 */
export const byteReadings: readonly ((text: string) => Rewritten | undefined)[] = [hexList, decimalList, hexDump];

/** The shortest value has six characters. */
const fewestDigits = 12;
const widestGap = 24;

const hexBeginning = /[0-9a-fA-F]{2}[ \t\r\n,:;"'-]{1,24}(?:0x)?[0-9a-fA-F]{2}/g;
const decimalBeginning = /[0-9][ \t\r\n]{0,16},[ \t\r\n]{0,16}(?:"[0-9]{1,7}": ?)?[0-9]/g;
/** The bytes of a line of `xxd`: offset and colon, groups, two blanks, text. Of `hexdump -C` and `od`: offset, bytes, text between bars. */
const dumpLine =
  /(?:0x)?(?:[0-9a-f]{4,16}: {1,2}((?:[0-9a-f]{2}){1,16}(?: (?:[0-9a-f]{2}){1,16}){0,255})(?:(?: {2}.*)?| ?)|[0-9a-f]{6,16}[ \t]{1,4}((?:[0-9a-f]{2} {1,2}){0,63}[0-9a-f]{2})(?: *\|.*)?[ \t]*)(?=[\r\n]|$)/iy;

const asHex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

const digit = 1;
const hexLetter = 2;
const letter = 4;
const gapSign = 8;
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[0-9]/.test(character)) return digit;
  if (/[a-f]/i.test(character)) return hexLetter;
  if (/[a-z_]/i.test(character)) return letter;
  return /[ \t\r\n,:;"'-]/.test(character) ? gapSign : 0;
});

/** The first place from `at` on whose character is of none of the kinds. */
function endOf(text: string, at: number, wanted: number): number {
  let end = at;
  while (((kinds[text.charCodeAt(end)] ?? 0) & wanted) !== 0) end += 1;
  return end;
}

function startOf(text: string, at: number, wanted: number): number {
  let start = at;
  while (((kinds[text.charCodeAt(start - 1)] ?? 0) & wanted) !== 0) start -= 1;
  return start;
}

/** `73:65 63`, `0x73, 0x65`: groups of one or more bytes. */
function hexList(text: string): Rewritten | undefined {
  const groups = new ByteGroups(text, (start, end) => text.slice(start, end));
  hexBeginning.lastIndex = 0;
  for (let found = hexBeginning.exec(text); found !== null; found = hexBeginning.exec(text)) {
    let next = startOf(text, found.index, digit | hexLetter | letter);
    for (let gap = 1; gap > 0 && gap <= widestGap; ) {
      const start = text.startsWith("0x", next) ? next + 2 : next;
      const end = endOf(text, start, digit | hexLetter);
      if (end === start || (end - start) % 2 === 1 || endOf(text, end, letter) > end) break;
      groups.add(start, end, end - start);
      next = endOf(text, end, gapSign);
      gap = next - end;
    }
    groups.cut();
    hexBeginning.lastIndex = Math.max(next, hexBeginning.lastIndex);
  }
  return groups.reading();
}

/** `[115, 101]`, and the JSON of a typed array, which has an index before each byte. */
function decimalList(text: string): Rewritten | undefined {
  const groups = new ByteGroups(text, (start, end) => asHex[numberAt(text, start, end)] ?? "");
  decimalBeginning.lastIndex = 0;
  for (let found = decimalBeginning.exec(text); found !== null; found = decimalBeginning.exec(text)) {
    let next = startOf(text, found.index, digit);
    for (let gap = 1; gap > 0 && gap <= widestGap; ) {
      const end = endOf(text, next, digit);
      if (end === next || end - next > 3 || numberAt(text, next, end) > 255) break;
      groups.add(next, end, 2);
      next = endOf(text, end, gapSign);
      const colon = endOf(text, next, digit);
      if (colon > next && text.startsWith('":', colon)) next = endOf(text, colon, gapSign);
      gap = next - end;
    }
    groups.cut();
    decimalBeginning.lastIndex = Math.max(next, decimalBeginning.lastIndex);
  }
  return groups.reading();
}

function numberAt(text: string, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 10 + text.charCodeAt(at) - 48;
  return value;
}

/** Lines that follow each other are one run. A line is masked as a whole, because it shows its bytes twice. */
function hexDump(text: string): Rewritten | undefined {
  const digits = new Map<number, string>();
  const groups = new ByteGroups(text, (start) => digits.get(start) ?? "");
  let end = 0;
  hexBeginning.lastIndex = 0;
  for (let found = hexBeginning.exec(text); found !== null; found = hexBeginning.exec(text)) {
    const start = startOf(text, found.index, digit | hexLetter | letter);
    const line = dumpedAt(text, start);
    if (line === undefined) continue;
    if (!/^\s{0,20}$/.test(text.slice(end, start))) groups.cut();
    end = dumpLine.lastIndex;
    digits.set(start, line);
    groups.add(start, end, line.length);
    hexBeginning.lastIndex = end;
  }
  groups.cut();
  return groups.reading();
}

/** The bytes of a line that begins here, or here begins a quoted text. */
function dumpedAt(text: string, start: number): string | undefined {
  let before = start - 1;
  while (before > start - 18 && /[ \t]/.test(text.charAt(before))) before -= 1;
  if (!/^[\n"'`]?$/.test(text.charAt(before))) return undefined;
  dumpLine.lastIndex = start;
  const [, grouped, single] = dumpLine.exec(text) ?? [];
  return (grouped ?? single)?.replaceAll(" ", "");
}

/** The groups of bytes in a text, as runs. A run without enough bytes for a value is dropped. */
class ByteGroups {
  readonly #text: string;
  readonly #digitsOf: (start: number, end: number) => string;
  /** Three for each group: start, end, and 1 if it begins a run. */
  readonly #groups: number[] = [];
  /** Where the present run begins in `#groups`. */
  #run = 0;
  #digits = 0;

  constructor(text: string, digitsOf: (start: number, end: number) => string) {
    this.#text = text;
    this.#digitsOf = digitsOf;
  }

  add(start: number, end: number, digits: number): void {
    this.#groups.push(start, end, this.#digits === 0 ? 1 : 0);
    this.#digits += digits;
  }

  cut(): void {
    if (this.#digits < fewestDigits) this.#groups.length = this.#run;
    this.#run = this.#groups.length;
    this.#digits = 0;
  }

  reading(): Rewritten | undefined {
    if (this.#groups.length === 0) return undefined;
    let text = "";
    this.#each((start, end, isFirst) => {
      text += isFirst ? `\n${this.#digitsOf(start, end)}` : this.#digitsOf(start, end);
    });
    let mapped: Rewritten | undefined; // made only when a value is found
    const original = (span: TextSpan): TextSpan => {
      mapped ??= this.#recorded();
      return mapped.original(span);
    };
    return { text, original };
  }

  #recorded(): Rewritten {
    const rewriting = new Rewriting(this.#text);
    let done = 0;
    this.#each((start, end, isFirst) => {
      rewriting.replace(done, start, isFirst ? "\n" : "");
      rewriting.replace(start, end, this.#digitsOf(start, end));
      done = end;
    });
    return rewriting.finish();
  }

  #each(visit: (start: number, end: number, isFirst: boolean) => void): void {
    for (let at = 0; at < this.#groups.length; at += 3)
      visit(this.#groups[at] ?? 0, this.#groups[at + 1] ?? 0, this.#groups[at + 2] === 1);
  }
}
