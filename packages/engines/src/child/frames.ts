/**
 * Frames between a sandbox and the host: four bytes of length, then JSON.
 *
 * Invariant: frames of a sandbox are untrusted. Their size, nesting and number of values are checked as the bytes arrive,
 * before anything is parsed. step-frames.ts checks each field before it is used.
 * Next: frame-line.ts (the exchange), step-frames.ts (the fields), inside.ts (the child's side).
 */
import { isJsonObject, type JsonObject } from "@postern/core";
import { textEnd } from "@postern/core/sandbox";

export interface FrameLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

/** The most bytes of a frame from a script. */
export const maxFrameBytes: number = 32 * 1024 * 1024;
/** Each value needs more memory than its bytes. */
const maxFrameValues = 2_000_000;
export const headerBytes = 4;

/** A sandbox broke the protocol. It is killed and nothing more is read from it. */
export class ProtocolBroken extends Error {
  override readonly name = "ProtocolBroken";
}

/** @param text the JSON of a message */
export function frameOf(text: string): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + Buffer.byteLength(text));
  frame.writeUInt32BE(frame.length - headerBytes, 0);
  frame.write(text, headerBytes);
  return frame;
}

/** A whole frame, and its size in bytes and values. */
export interface ReadFrame {
  readonly message: JsonObject;
  readonly bytes: number;
  readonly values: number;
}

/** Takes bytes as they arrive and returns whole frames. After a broken frame it cannot be used. */
export class FrameReader {
  readonly #limits: FrameLimits;
  #header = Buffer.alloc(0);
  #frame: { missing: number; readonly parts: Buffer[]; readonly scan: JsonScan } | undefined;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** @throws ProtocolBroken when the bytes are no frames */
  *push(chunk: Buffer): Generator<ReadFrame> {
    for (let rest = chunk; rest.length > 0 || this.#frame?.missing === 0; ) {
      const frame = this.#frame;
      if (frame === undefined) {
        rest = this.#readHeader(rest);
        continue;
      }
      const part = rest.subarray(0, frame.missing);
      frame.scan.take(part);
      frame.parts.push(part);
      frame.missing -= part.length;
      rest = rest.subarray(part.length);
      if (frame.missing > 0) return;
      this.#frame = undefined;
      const bytes = Buffer.concat(frame.parts);
      yield { message: parsed(bytes), bytes: bytes.length, values: frame.scan.values };
    }
  }

  /** Returns the bytes after the header. */
  #readHeader(bytes: Buffer): Buffer {
    const missing = headerBytes - this.#header.length;
    this.#header = Buffer.concat([this.#header, bytes.subarray(0, missing)]);
    if (this.#header.length < headerBytes) return bytes.subarray(missing);
    const length = this.#header.readUInt32BE(0);
    const { maxBytes, maxDepth } = this.#limits;
    if (length > maxBytes) throw new ProtocolBroken(`A frame of ${length} bytes is larger than ${maxBytes}.`);
    this.#header = Buffer.alloc(0);
    this.#frame = { missing: length, parts: [], scan: new JsonScan(maxDepth) };
    return bytes.subarray(missing);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function parsed(bytes: Buffer): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw new ProtocolBroken("A frame is not JSON.", { cause });
  }
  if (!isJsonObject(value)) throw new ProtocolBroken("A frame is not a JSON object.");
  return value;
}

const quote = 0x22;
const [openBracket, openBrace] = [0x5b, 0x7b];
const [closeBracket, closeBrace] = [0x5d, 0x7d];
const [comma, colon] = [0x2c, 0x3a];

/** Counts the levels and the values of a JSON text that arrives in parts. */
class JsonScan {
  readonly #maxDepth: number;
  #depth = 0;
  values = 0;
  #inText = false;
  #isEscaped = false;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  /** @throws ProtocolBroken */
  take(part: Buffer): void {
    for (let at = 0; at < part.length; at++) {
      const byte = part[at];
      if (this.#inText) {
        at = textEnd(part, this.#isEscaped ? at + 1 : at);
        this.#isEscaped = at > part.length;
        this.#inText = at >= part.length;
      } else if (byte === quote) this.#inText = true;
      else if (byte === comma || byte === colon) this.values += 1;
      else if (byte === openBracket || byte === openBrace) {
        this.values += 1;
        this.#depth += 1;
        if (this.#depth > this.#maxDepth)
          throw new ProtocolBroken(`A frame is nested deeper than ${this.#maxDepth} levels.`);
      } else if (byte === closeBracket || byte === closeBrace) this.#depth -= 1;
    }
    if (this.values > maxFrameValues) throw new ProtocolBroken(`A frame holds more than ${maxFrameValues} values.`);
  }
}
