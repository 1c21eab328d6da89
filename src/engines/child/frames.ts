/**
 * Frames between a sandbox and the host: four bytes of length, then JSON.
 *
 * Invariant: frames of a sandbox are untrusted. The size is checked before bytes are kept, the nesting before they are
 * parsed, and step-frames.ts checks each field before it is used.
 * Next: large-frame.ts (large frames), step-frames.ts (the fields), child-process.ts (the process), inside.ts (the child's
 * side).
 */
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { textEnd } from "../../tools/schema/json-text-end.ts";
import { headerBytes } from "./encode-frame.ts";
import { type FrameBounds, LargeFrame, usualBounds } from "./large-frame.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

export interface FrameLimits {
  readonly maxBytes: number;
  /** The most bytes kept of one frame, without the values that are cut out. Default: `maxBytes`. */
  readonly keptBytes?: number;
  readonly maxDepth: number;
}

/** Limits for frames of scripts. */
export const frameSizes: Pick<FrameLimits, "maxBytes" | "keptBytes"> = {
  maxBytes: 256 * 1024 * 1024,
  keptBytes: 32 * 1024 * 1024,
};

/** Takes bytes as they arrive and returns whole frames. After a broken frame it cannot be used. */
export class FrameReader {
  readonly #limits: FrameLimits;
  #bounds: FrameBounds = usualBounds;
  #chunks: Buffer[] = [];
  #held = 0;
  #large: LargeFrame | undefined;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** Applies from the next frame on. */
  bound(bounds: FrameBounds): void {
    this.#bounds = bounds;
  }

  /** @throws ProtocolBroken when the bytes are no frames */
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
  // Each level takes at least one byte, so a short frame cannot be too deep.
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

/** Depth is counted before parsing, because code that walks parsed JSON is recursive. */
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
