import { fstatSync } from "node:fs";
import { readFrom } from "./disk.ts";
import { FileRejection } from "./guard/rejection.ts";
import { mediaTypeOf } from "./media-type.ts";
import { afterLines, countLines, textIn } from "./text.ts";

/** Lines are counted from 1, bytes from 0. By lines or by bytes, not both. */
export interface ReadRange {
  readonly first_line?: number | undefined;
  readonly lines?: number | undefined;
  readonly first_byte?: number | undefined;
  readonly bytes?: number | undefined;
}

export interface ReadLimits {
  readonly maxFileBytes: number;
  readonly maxMediaBytes: number;
  /** Throws if the call has ended. */
  readonly check: () => void;
}

export type FileReading =
  | { readonly kind: "text"; readonly text: string; readonly bytes: number; readonly note: string | undefined }
  | { readonly kind: "media"; readonly data: Buffer; readonly mediaType: string; readonly bytes: number };

interface OpenFile {
  readonly descriptor: number;
  readonly size: number;
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
  const file = { descriptor, size: fstatSync(descriptor).size };
  if (!byLines && !byBytes) {
    const media = await wholeMedia(file, limits);
    if (media !== undefined) return media;
  }
  return byBytes ? partByBytes(file, range, limits) : partByLines(file, range, limits);
}

/** A file that is no text is read completely or not at all. */
async function wholeMedia({ descriptor, size }: OpenFile, limits: ReadLimits): Promise<FileReading | undefined> {
  const head = await readFrom(descriptor, 0, Math.min(chunkBytes, limits.maxFileBytes));
  if (textIn(head, { before: false, after: head.length < size }) !== undefined) return undefined;
  if (size > limits.maxMediaBytes)
    throw new FileRejection(
      "too_large",
      `is no text and has ${size} bytes; at most ${limits.maxMediaBytes} are given back. Read a part by \`first_byte\` and \`bytes\`.`,
    );
  const data = size > head.length ? await readFrom(descriptor, 0, limits.maxMediaBytes) : head;
  return { kind: "media", data, mediaType: mediaTypeOf(data), bytes: data.length };
}

async function partByBytes({ descriptor, size }: OpenFile, range: ReadRange, limits: ReadLimits): Promise<FileReading> {
  const first = range.first_byte ?? 0;
  const wanted = Math.min(range.bytes ?? limits.maxFileBytes, limits.maxFileBytes);
  const data = await readFrom(descriptor, first, wanted);
  const found = textIn(data, { before: first > 0, after: first + data.length < size });
  if (found === undefined) return { kind: "media", data, mediaType: "application/octet-stream", bytes: data.length };
  const end = first + (found.end || data.length); // a range inside one character continues after it
  const shown = data.length === 0 ? "nothing: the file ends before" : `bytes ${first} to ${end - 1}`;
  const note = first > 0 || end < size ? noteOf(shown, { size, end, next: `first_byte ${end}` }) : undefined;
  return { kind: "text", text: found.text, bytes: data.length, note };
}

async function partByLines({ descriptor, size }: OpenFile, range: ReadRange, limits: ReadLimits): Promise<FileReading> {
  const first = range.first_line ?? 1;
  const begin = await findLine(descriptor, first, limits);
  if (begin === undefined)
    return {
      kind: "text",
      text: "",
      bytes: 0,
      note: noteOf(`nothing: the file has fewer than ${first} lines`, { size, end: size, next: "" }),
    };
  const data = await readFrom(descriptor, begin, limits.maxFileBytes);
  const lineEnd = endOfLines(data, range.lines, begin + data.length >= size);
  const part = data.subarray(0, lineEnd > 0 ? lineEnd : data.length); // one line longer than the limit is cut inside
  const found = textIn(part, { before: false, after: begin + part.length < size });
  if (found === undefined)
    throw new FileRejection("not_text", "is not UTF-8 text; read it by `first_byte` and `bytes`.");
  const { text, end } = found;
  if (begin === 0 && end >= size) return { kind: "text", text, bytes: end, note: undefined };
  const next = lineEnd > 0 ? `first_line ${first + countLines(part)}` : `first_byte ${begin + end}`;
  const note = noteOf(linesShown(first, part), { size, end: begin + end, next });
  return { kind: "text", text, bytes: end, note };
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
  { size, end, next }: { readonly size: number; readonly end: number; readonly next: string },
): string {
  return `[${shown}; the file has ${size} bytes${end < size ? `; go on with ${next}` : ""}]`;
}

/** Where a line begins. Returns undefined if there are fewer lines. */
async function findLine(descriptor: number, line: number, { check }: ReadLimits): Promise<number | undefined> {
  let missing = line - 1;
  for (let position = 0; missing > 0; position += chunkBytes) {
    check();
    if (position >= maxScanBytes)
      throw new FileRejection(
        "range_invalid",
        `has more than ${maxScanBytes} bytes before line ${line}; read it by \`first_byte\`.`,
      );
    const chunk = await readFrom(descriptor, position, chunkBytes);
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
