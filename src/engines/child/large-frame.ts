/**
 * A large frame: scanned as its bytes arrive, and parsed in slices.
 *
 * Invariant: no frame blocks the host's event loop. Arguments of a call or a script's value that are larger than their bound,
 * or hold too many values, are dropped while they arrive; `cutBytes` holds their size. The rest of the frame is bounded.
 */
import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { textEnd } from "../../tools/schema/json-text-end.ts";
import { mostNamesOf, usualArgumentBytes, usualArgumentValues } from "../large-arguments.ts";
import type { SandboxLimits } from "../sandbox.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

/** The bounds of one call's arguments and of a script's value, as JSON. */
export interface FrameBounds {
  readonly argumentBytes: number;
  readonly valueBytes: number;
  /** The most values and names in either. The signs between them are counted. */
  readonly mostValues: number;
  /** The most names in one object. */
  readonly mostNames: number;
  /** A larger frame is scanned before it is parsed. */
  readonly largeBytes: number;
}

/** A frame of this size is parsed in a few milliseconds. */
const mostAtOnce = 256 * 1024;

export function frameBounds(
  limits: Pick<SandboxLimits, "argumentBytes" | "argumentValues" | "outputBytes">,
): FrameBounds {
  const { argumentBytes = usualArgumentBytes, argumentValues: mostValues = usualArgumentValues, outputBytes } = limits;
  // A value takes at least one byte and a name five, so a shorter frame cannot hold too many.
  const largeBytes = Math.min(mostAtOnce, argumentBytes, outputBytes, Math.floor(mostValues / 2));
  return { argumentBytes, valueBytes: outputBytes, mostValues, mostNames: mostNamesOf(mostValues), largeBytes };
}

export const usualBounds: FrameBounds = frameBounds({ outputBytes: Number.MAX_SAFE_INTEGER });

/** The most values kept of a frame: each needs more memory than its bytes. */
const mostFrameValues = 2_000_000;

/** A larger image (in base64) is dropped, and its script is replayed. */
const mostImageBytes = 8 * 1024 * 1024;
/** Longer names are not compared. */
const longestName = 64;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** A bounded member while it arrives. */
interface FrameMeasure {
  readonly depth: number;
  readonly most: number;
  readonly instead: string;
  readonly parts: Buffer[];
  bytes: number;
  values: number;
  /** By depth: the names in the open object. */
  readonly names: number[];
  /** The most names in one object so far. */
  namesAtMost: number;
}

interface LargeTerms {
  readonly length: number;
  /** The most bytes kept of the frame. */
  readonly mostBytes: number;
  readonly maxDepth: number;
}

export class LargeFrame {
  readonly #terms: LargeTerms;
  readonly #bounds: FrameBounds;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #keptValues = 0;
  #missing: number;
  #depth = 0;
  #inText = false;
  #escaped = false;
  /** The last text with its quotes, if it is short enough to be a compared name. */
  #name: Buffer[] = [];
  #nameBytes = 0;
  /** The open member of the frame. */
  #member = "";
  #measured: FrameMeasure | undefined;

  constructor(terms: LargeTerms, bounds: FrameBounds) {
    this.#missing = terms.length;
    this.#terms = terms;
    this.#bounds = bounds;
  }

  /** Bytes that have not arrived yet. */
  get missing(): number {
    return this.#missing;
  }

  /** @throws ProtocolBroken when it is nested too deeply, or too many bytes or values would be kept */
  take(part: Buffer): void {
    this.#missing -= part.length;
    let from = 0;
    for (let at = 0; at < part.length; at += 1) {
      if (this.#inText) {
        at = this.#throughText(part, at);
        continue;
      }
      const byte = part[at];
      if (byte === quote) this.#beginText(part, at);
      else if (byte === openBrace || byte === openBracket) this.#enter();
      else if (byte === colon) {
        const measured = this.#named();
        this.#countName();
        if (measured === undefined) continue;
        this.#keep(part.subarray(from, at + 1));
        from = at + 1;
        this.#measured = measured;
      } else if (byte === comma || byte === closeBrace || byte === closeBracket) {
        if (this.#measured?.depth === this.#depth) {
          this.#keep(part.subarray(from, at));
          from = at;
          this.#endMeasured(this.#measured);
        }
        if (byte === comma) this.#count(1);
        else this.#depth -= 1;
      }
    }
    this.#keep(part.subarray(from));
  }

  /** @throws ProtocolBroken */
  async parsed(): Promise<JsonObject> {
    if (this.#measured !== undefined) throw new ProtocolBroken("A frame is not JSON.");
    const bytes = Buffer.concat(this.#kept.splice(0));
    if (!isUtf8(bytes)) throw new ProtocolBroken("A frame is not JSON.");
    let parsed: unknown;
    try {
      parsed = JSON.parse(bytes.toString());
    } catch (cause) {
      throw new ProtocolBroken("A frame is not JSON.", { cause });
    }
    if (!isJsonObject(parsed)) throw new ProtocolBroken("A frame is not a JSON object.");
    return parsed;
  }

  /** @returns where the text or this part ends */
  #throughText(part: Buffer, start: number): number {
    const at = textEnd(part, this.#escaped ? start + 1 : start);
    this.#escaped = at > part.length;
    this.#inText = at >= part.length;
    this.#keepName(part.subarray(start, at + 1));
    return at;
  }

  #beginText(part: Buffer, at: number): void {
    this.#inText = true;
    this.#name = [];
    this.#nameBytes = 0;
    this.#keepName(part.subarray(at, at + 1));
  }

  #keepName(bytes: Buffer): void {
    this.#nameBytes += bytes.length;
    if (this.#nameBytes <= longestName) this.#name.push(bytes);
  }

  #enter(): void {
    this.#count(1);
    this.#depth += 1;
    if (this.#measured !== undefined) this.#measured.names[this.#depth] = 0;
    if (this.#depth > this.#terms.maxDepth)
      throw new ProtocolBroken(`A frame is nested deeper than ${this.#terms.maxDepth} levels.`);
  }

  /** After a colon: whether the member that begins is bounded. */
  #named(): FrameMeasure | undefined {
    const depth = this.#depth;
    if (this.#measured !== undefined || (depth !== 1 && depth !== 3)) return undefined;
    if (depth === 3 && this.#nameBytes < '"arguments"'.length) return undefined; // no encoding of the name is shorter
    const name = this.#nameBytes > longestName ? "" : unescaped(Buffer.concat(this.#name));
    if (depth === 1) this.#member = name;
    const most = this.#mostOf(depth, name);
    if (most === undefined) return undefined;
    return {
      depth,
      most,
      instead: depth === 1 ? "null" : "{}",
      parts: [],
      bytes: 0,
      values: 0,
      names: [],
      namesAtMost: 0,
    };
  }

  #mostOf(depth: number, name: string): number | undefined {
    if (depth === 3) return name === "arguments" && this.#member === "calls" ? this.#bounds.argumentBytes : undefined;
    if (name === "value") return this.#bounds.valueBytes;
    return name === "image" ? mostImageBytes : undefined;
  }

  #endMeasured(measured: FrameMeasure): void {
    const { bytes, values, instead, parts } = measured;
    this.#measured = undefined;
    if (this.#isCut(measured)) this.#keep(Buffer.from(`${instead},"cutBytes":${bytes}`));
    else {
      this.#keptBytes -= bytes; // counted when they arrived
      for (const part of parts) this.#keep(part);
      this.#count(values);
    }
  }

  #isCut({ bytes, most, values, namesAtMost }: FrameMeasure): boolean {
    const { mostValues, mostNames } = this.#bounds;
    return bytes > most || values > mostValues || namesAtMost > mostNames;
  }

  #countName(): void {
    this.#count(1);
    const measured = this.#measured;
    if (measured === undefined) return;
    const count = (measured.names[this.#depth] ?? 0) + 1;
    measured.names[this.#depth] = count;
    measured.namesAtMost = Math.max(measured.namesAtMost, count);
  }

  /** Values of a bounded member are counted apart until the member is complete. */
  #count(values: number): void {
    if (this.#measured !== undefined) this.#measured.values += values;
    else {
      this.#keptValues += values;
      if (this.#keptValues > mostFrameValues)
        throw new ProtocolBroken(`A frame holds more than ${mostFrameValues} values.`);
    }
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const measured = this.#measured;
    if (measured !== undefined) {
      measured.bytes += bytes.length;
      if (this.#isCut(measured)) {
        this.#keptBytes -= measured.parts.splice(0).reduce((sum, { length }) => sum + length, 0);
        return;
      }
    }
    const { mostBytes } = this.#terms;
    this.#keptBytes += bytes.length;
    if (this.#keptBytes > mostBytes) throw new ProtocolBroken(`A frame holds more than ${mostBytes} bytes.`);
    (measured === undefined ? this.#kept : measured.parts).push(bytes);
  }
}

/** The name without JSON's escapes. */
function unescaped(text: Buffer): string {
  try {
    const name: unknown = JSON.parse(text.toString());
    return typeof name === "string" ? name : "";
  } catch {
    return ""; // not JSON; the parser reports it
  }
}
