/**
 * What crosses the pipe between a sandbox's process and us: four bytes of length, then JSON.
 *
 * Invariant: a frame from a child is a stranger's. Its size is checked before it is kept, its nesting before it is parsed,
 * and nothing of it is used before `step-frames.ts` has read its shape field by field.
 * Next: large-frame.ts (what takes more than a moment), step-frames.ts (what a frame may say), child-process.ts (the
 * process), inside.ts (the other end).
 */
import { isJsonObject, type JsonObject } from "../../../calls/json.ts";
import { textEnd } from "../../../tools/json-text-end.ts";
import { headerBytes } from "./encode-frame.ts";
import { type FrameBounds, LargeFrame, usualBounds } from "./large-frame.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

export interface FrameLimits {
  readonly maxBytes: number;
  /** So much of one is kept: what its bounds cut out of it is not. `maxBytes` where nothing is said. */
  readonly keptBytes?: number;
  readonly maxDepth: number;
}

/** Of one conversation. No script needs more: its memory is smaller. */
export const frameSizes: Pick<FrameLimits, "maxBytes" | "keptBytes"> = {
  maxBytes: 256 * 1024 * 1024,
  keptBytes: 32 * 1024 * 1024,
};

/** Takes bytes as they come and gives whole frames; a broken one ends it for good. */
export class FrameReader {
  readonly #limits: FrameLimits;
  #bounds: FrameBounds = usualBounds;
  #chunks: Buffer[] = [];
  #held = 0;
  #large: LargeFrame | undefined;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** From the next frame on. */
  bound(bounds: FrameBounds): void {
    this.#bounds = bounds;
  }

  /** @throws ProtocolBroken when the bytes are not frames of ours. Nothing may be read afterwards */
  *push(chunk: Buffer): Generator<JsonObject | LargeFrame> {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    for (;;) {
      const large = this.#large;
      if (large !== undefined) {
        this.#feed(large);
        if (large.missing > 0) return;
        this.#large = undefined;
        yield large;
      }
      if (this.#held < headerBytes) return;
      const length = this.#head().readUInt32BE(0);
      if (length > this.#limits.maxBytes) {
        throw new ProtocolBroken(`A frame of ${length} bytes is larger than ${this.#limits.maxBytes}.`);
      }
      if (length > this.#bounds.largeBytes) {
        const { maxBytes, keptBytes: mostBytes = maxBytes, maxDepth } = this.#limits;
        this.#large = new LargeFrame({ length, mostBytes, maxDepth }, this.#bounds);
        this.#keep(this.#head().subarray(headerBytes), ...this.#chunks.slice(1));
        continue;
      }
      if (this.#held < headerBytes + length) return;
      const whole = this.#chunks.length === 1 ? this.#head() : Buffer.concat(this.#chunks);
      this.#keep(whole.subarray(headerBytes + length));
      yield readFrame(whole.subarray(headerBytes, headerBytes + length), this.#limits.maxDepth);
    }
  }

  #feed(large: LargeFrame): void {
    for (let chunk = this.#chunks.shift(); chunk !== undefined; chunk = this.#chunks.shift()) {
      const own = chunk.subarray(0, large.missing);
      large.take(own);
      if (large.missing > 0) continue;
      this.#keep(chunk.subarray(own.length), ...this.#chunks);
      return;
    }
    this.#held = 0;
  }

  #keep(...chunks: readonly Buffer[]): void {
    this.#chunks = chunks.filter(({ length }) => length > 0);
    this.#held = this.#chunks.reduce((sum, { length }) => sum + length, 0);
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
const openers: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closers: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Every walk over parsed JSON is recursive, so depth is counted before there is anything to walk. */
function deeperThan(bytes: Buffer, maxDepth: number): boolean {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === quote) i = textEnd(bytes, i + 1);
    else if (openers.has(byte)) {
      depth++;
      if (depth > maxDepth) return true;
    } else if (closers.has(byte)) depth--;
  }
  return false;
}
