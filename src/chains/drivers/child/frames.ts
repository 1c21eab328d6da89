/**
 * What crosses the pipe between a sandbox's process and us: four bytes of length, then JSON.
 *
 * Invariant: a frame from a child is a stranger's. Its size is checked before it is kept, its nesting before it is parsed,
 * and nothing of it is used before `step-frames.ts` has read its shape field by field.
 * Next: step-frames.ts (what a frame may say), child-process.ts (the process), inside.ts (the other end).
 */
import { isJsonObject, type JsonObject } from "../../../calls/json.ts";

export const headerBytes = 4;

export interface FrameLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

/** One frame, ready to be written. */
export function encodeFrame(message: JsonObject): Buffer {
  const text = JSON.stringify(message);
  const frame = Buffer.allocUnsafe(headerBytes + Buffer.byteLength(text));
  frame.writeUInt32BE(frame.length - headerBytes, 0);
  frame.write(text, headerBytes);
  return frame;
}

/** Takes bytes as they come and gives whole frames; a broken one ends it for good. */
export class FrameReader {
  readonly #limits: FrameLimits;
  #chunks: Buffer[] = [];
  #held = 0;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** @throws ProtocolBroken when the bytes are not frames of ours. Nothing may be read afterwards */
  *push(chunk: Buffer): Generator<JsonObject> {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    for (;;) {
      if (this.#held < headerBytes) return;
      const length = this.#head().readUInt32BE(0);
      if (length > this.#limits.maxBytes) {
        throw new ProtocolBroken(`A frame of ${length} bytes is larger than ${this.#limits.maxBytes}.`);
      }
      if (this.#held < headerBytes + length) return;
      const whole = this.#chunks.length === 1 ? this.#head() : Buffer.concat(this.#chunks);
      const rest = whole.subarray(headerBytes + length);
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#held = rest.length;
      yield readFrame(whole.subarray(headerBytes, headerBytes + length), this.#limits.maxDepth);
    }
  }

  /** The first chunk, at least a header long. */
  #head(): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= headerBytes) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}

/** A child that does not keep to the protocol. It is killed, and nothing more of it is read. */
export class ProtocolBroken extends Error {
  override readonly name = "ProtocolBroken";
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** @throws ProtocolBroken */
export function readFrame(bytes: Buffer, maxDepth: number): JsonObject {
  // A level takes a byte at least: what is short enough need not be counted.
  if (bytes.length > maxDepth && deeperThan(bytes, maxDepth))
    throw new ProtocolBroken(`A frame is nested deeper than ${maxDepth} levels.`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(utf8.decode(bytes));
  } catch (error) {
    throw new ProtocolBroken("A frame is not JSON.", { cause: error });
  }
  if (!isJsonObject(parsed)) throw new ProtocolBroken("A frame is not a JSON object.");
  return parsed;
}

const quote = 0x22;
const backslash = 0x5c;
const openers: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closers: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Every walk over parsed JSON is recursive, so depth is counted before there is anything to walk. */
function deeperThan(bytes: Buffer, maxDepth: number): boolean {
  let depth = 0;
  let inText = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (inText) {
      if (byte === backslash) i++;
      else if (byte === quote) inText = false;
    } else if (byte === quote) inText = true;
    else if (openers.has(byte)) {
      depth++;
      if (depth > maxDepth) return true;
    } else if (closers.has(byte)) depth--;
  }
  return false;
}
