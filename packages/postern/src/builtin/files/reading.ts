import { fstatSync } from "node:fs";
import { readFrom } from "./disk.ts";
import { decoded, encodingNamed, likelyEncoding, markedEncoding, notText } from "./encoding.ts";
import { FileRejection } from "./guard/rejection.ts";
import { mediaTypeOf, unknownType } from "./media-type.ts";
import { afterLines, countLines, textIn } from "./text.ts";

/** Lines are counted from 1, bytes from 0. By lines or by bytes, not both. */
export interface ReadRange {
  readonly first_line?: number | undefined;
  readonly lines?: number | undefined;
  readonly first_byte?: number | undefined;
  readonly bytes?: number | undefined;
  /** Of the file, if it is neither UTF-8 nor UTF-16 with its mark. */
  readonly encoding?: string | undefined;
}

export interface ReadLimits {
  readonly maxFileBytes: number;
  readonly maxMediaBytes: number;
  /** Throws if the call has ended. */
  readonly check: () => void;
}

/** A part of a file: text, or bytes with their type. */
export type FileReading =
  | {
      readonly kind: "text";
      readonly text: string;
      readonly bytes: number;
      readonly note: string | undefined;
      /** How to read on after the part of the text that a reader was shown. */
      readonly readOn?: (shown: string) => string | undefined;
    }
  | { readonly kind: "media"; readonly data: Buffer; readonly mediaType: string; readonly bytes: number };

/** The bytes that ranges count in: of a UTF-8 file its own, of another text file its text as UTF-8. */
interface ReadSource {
  readonly size: number;
  /** Of the file, if it is not UTF-8. */
  readonly encoding?: string;
  read(position: number, length: number): Promise<Buffer>;
}

const chunkBytes = 65_536;
/** How far a range by lines is searched. */
const maxScanBytes = 64 * 1024 * 1024;

/** Reads a part of a plain file, up to the limit. The note says what is left out and how to continue. */
export async function readRange(descriptor: number, range: ReadRange, limits: ReadLimits): Promise<FileReading> {
  const byLines = range.first_line !== undefined || range.lines !== undefined;
  const byBytes = range.first_byte !== undefined || range.bytes !== undefined;
  if (byLines && byBytes)
    throw new FileRejection(
      "range_invalid",
      "cannot be read by lines and by bytes together; give `first_line` and `lines`, or `first_byte` and `bytes`.",
    );
  const file = {
    size: fstatSync(descriptor).size,
    read: (position: number, length: number) => readFrom(descriptor, position, length),
  };
  const source = await textSource(file, range.encoding, limits);
  if (!byLines && !byBytes && source === file) {
    const media = await wholeMedia(file, limits);
    if (media !== undefined) return media;
  }
  return byBytes ? partByBytes(source, range, limits) : partByLines(source, range, limits);
}

/** The file itself, or its text as UTF-8 if it has another encoding. */
async function textSource(
  file: ReadSource,
  stated: string | undefined,
  { maxMediaBytes }: ReadLimits,
): Promise<ReadSource> {
  const { size } = file;
  const encoding =
    stated === undefined ? markedEncoding(await file.read(0, Math.min(chunkBytes, size))) : encodingNamed(stated);
  if (encoding === undefined || encoding === "utf-8") return file;
  if (size > maxMediaBytes)
    throw new FileRejection(
      "too_large",
      `is ${encoding} and has ${size} bytes; at most ${maxMediaBytes} can be read in another encoding than UTF-8.`,
    );
  const bytes = Buffer.from(decoded(await file.read(0, maxMediaBytes), encoding));
  return {
    size: bytes.length,
    encoding,
    read: async (position, length) => bytes.subarray(position, position + length),
  };
}

/** A file that is no text is read completely or not at all. */
async function wholeMedia({ read, size }: ReadSource, limits: ReadLimits): Promise<FileReading | undefined> {
  const head = await read(0, Math.min(chunkBytes, limits.maxFileBytes));
  if (textIn(head, { before: false, after: head.length < size }) !== undefined) return undefined;
  const mediaType = mediaTypeOf(head);
  if (mediaType === unknownType && likelyEncoding(head) !== undefined) throw notText(head, size);
  if (size > limits.maxMediaBytes)
    throw new FileRejection(
      "too_large",
      `is no text and has ${size} bytes; at most ${limits.maxMediaBytes} are given back. Read a part by \`first_byte\` and \`bytes\`.`,
    );
  const data = size > head.length ? await read(0, limits.maxMediaBytes) : head;
  return { kind: "media", data, mediaType, bytes: data.length };
}

async function partByBytes(source: ReadSource, range: ReadRange, limits: ReadLimits): Promise<FileReading> {
  const { read, size } = source;
  const first = range.first_byte ?? 0;
  const wanted = Math.min(range.bytes ?? limits.maxFileBytes, limits.maxFileBytes);
  const data = await read(first, wanted);
  const found = textIn(data, { before: first > 0, after: first + data.length < size });
  if (found === undefined) return { kind: "media", data, mediaType: unknownType, bytes: data.length };
  const end = first + (found.end || data.length); // a range inside one character continues after it
  const shown = data.length === 0 ? "nothing: the file ends before" : `bytes ${first} to ${end - 1}`;
  const note = first > 0 || end < size ? noteOf(shown, { source, end, next: `first_byte ${end}` }) : undefined;
  const { text } = found;
  const readOn = readingOn({ text, source, begin: first + found.begin, line: undefined });
  return { kind: "text", text, bytes: data.length, note, readOn };
}

async function partByLines(source: ReadSource, range: ReadRange, limits: ReadLimits): Promise<FileReading> {
  const { read, size } = source;
  const first = range.first_line ?? 1;
  const begin = await findLine(source, first, limits);
  if (begin === undefined)
    return {
      kind: "text",
      text: "",
      bytes: 0,
      note: noteOf(`nothing: the file has fewer than ${first} lines`, { source, end: size, next: "" }),
    };
  const data = await read(begin, limits.maxFileBytes);
  const lineEnd = endOfLines(data, range.lines, begin + data.length >= size);
  const part = data.subarray(0, lineEnd > 0 ? lineEnd : data.length); // one line longer than the limit is cut inside
  const found = textIn(part, { before: false, after: begin + part.length < size });
  if (found === undefined) throw notText(part, size);
  const { text, end } = found;
  const readOn = readingOn({ text, source, begin, line: first });
  if (begin === 0 && end >= size) return { kind: "text", text, bytes: end, note: undefined, readOn };
  const next = lineEnd > 0 ? `first_line ${first + countLines(part)}` : `first_byte ${begin + end}`;
  const note = noteOf(linesShown(first, part), { source, end: begin + end, next });
  return { kind: "text", text, bytes: end, note, readOn };
}

interface ReadPart {
  readonly text: string;
  readonly source: ReadSource;
  /** Where the text begins. */
  readonly begin: number;
  /** Its first line. Undefined if it begins anywhere. */
  readonly line: number | undefined;
}

/**
 * Says how to read on after the part that the reader got, which may be shorter than the part that was read. It counts whole
 * lines, because a mask changes the number of bytes; it counts bytes only if nothing is masked.
 */
function readingOn({ text, source, begin, line }: ReadPart): (shown: string) => string | undefined {
  return (given) => {
    const shown = given.slice(0, text.length); // a note may follow the text
    const lines = countLines(Buffer.from(shown));
    const size = `(the file has ${source.size} bytes)`;
    if (line !== undefined && lines > 0) return `send the same call with \`first_line: ${line + lines}\` ${size}`;
    if (!text.startsWith(shown)) return undefined;
    const next = begin + Buffer.byteLength(shown);
    return `send the call with \`first_byte: ${next}\` and without lines ${size}`;
  };
}

/** Where the wanted lines end in the read bytes. Returns 0 if not even one line ends there. */
function endOfLines(data: Buffer, lines: number | undefined, isWholeRest: boolean): number {
  const wanted = lines === undefined ? -1 : afterLines(data, lines);
  if (wanted >= 0) return wanted;
  return isWholeRest ? data.length : data.lastIndexOf(0x0a) + 1;
}

function linesShown(first: number, part: Uint8Array): string {
  const last = first + countLines(part) - (part.at(-1) === 0x0a ? 1 : 0);
  return part.length === 0 ? "nothing" : first === last ? `line ${first}` : `lines ${first} to ${last}`;
}

/** @param next how to continue after `end` */
function noteOf(
  shown: string,
  { source, end, next }: { readonly source: ReadSource; readonly end: number; readonly next: string },
): string {
  const { size, encoding } = source;
  const what = encoding === undefined ? "the file has" : `the file is ${encoding}; its text as UTF-8 has`;
  return `[${shown}; ${what} ${size} bytes${end < size ? `; go on with ${next}` : ""}]`;
}

/** Where a line begins. Returns undefined if there are fewer lines. */
async function findLine({ read }: ReadSource, line: number, { check }: ReadLimits): Promise<number | undefined> {
  let missing = line - 1;
  for (let position = 0; missing > 0; position += chunkBytes) {
    check();
    if (position >= maxScanBytes)
      throw new FileRejection(
        "range_invalid",
        `has more than ${maxScanBytes} bytes before line ${line}; read it by \`first_byte\`.`,
      );
    const chunk = await read(position, chunkBytes);
    const lines = countLines(chunk);
    if (lines >= missing) return position + afterLines(chunk, missing);
    if (chunk.length < chunkBytes) return undefined;
    missing -= lines;
  }
  return 0;
}

/** Reads a whole file for a change. */
export async function readWhole(descriptor: number, maxBytes: number): Promise<Buffer> {
  const { size } = fstatSync(descriptor);
  const data = size > maxBytes ? undefined : await readFrom(descriptor, 0, maxBytes + 1);
  if (data === undefined || data.length > maxBytes)
    throw new FileRejection("too_large", `has ${size} bytes; at most ${maxBytes} can be changed this way.`);
  return data;
}
