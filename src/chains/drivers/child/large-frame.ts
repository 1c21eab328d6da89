/**
 * A frame that takes more than a moment: looked through as its bytes come, and parsed with turns for others.
 *
 * Invariant: however much a child sends, nothing of it holds the host's loop. What is larger than a call's arguments or a
 * script's answer may be, or holds more values, is counted, let go as it comes, and told as `cutBytes` beside it; the rest
 * is bounded.
 */
import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../../calls/json.ts";
import { textEnd } from "../../../tools/json-text-end.ts";
import { mostNamesOf, usualArgumentBytes, usualArgumentValues } from "../../large-arguments.ts";
import type { SandboxLimits } from "../../sandbox.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

/** What one call's arguments and a script's answer may have, as JSON. */
export interface FrameBounds {
  readonly argumentBytes: number;
  readonly valueBytes: number;
  /** Either may hold so many values, names among them: the signs between them are counted. */
  readonly mostValues: number;
  /** And one object of it so many names. */
  readonly mostNames: number;
  /** A frame above this is looked through before it is parsed. */
  readonly largeBytes: number;
}

/** So much is parsed at once: a few milliseconds. */
const mostAtOnce = 256 * 1024;

export function frameBounds(
  limits: Pick<SandboxLimits, "argumentBytes" | "argumentValues" | "outputBytes">,
): FrameBounds {
  const { argumentBytes = usualArgumentBytes, argumentValues: mostValues = usualArgumentValues, outputBytes } = limits;
  // Each sign is a byte, and each name five: what is shorter holds no more.
  const largeBytes = Math.min(mostAtOnce, argumentBytes, outputBytes, Math.floor(mostValues / 2));
  return { argumentBytes, valueBytes: outputBytes, mostValues, mostNames: mostNamesOf(mostValues), largeBytes };
}

export const usualBounds: FrameBounds = frameBounds({ outputBytes: Number.MAX_SAFE_INTEGER });

/** In what is kept of a frame, all in all: each costs more memory than its bytes say. */
const mostFrameValues = 2_000_000;

/** An image above it is not kept: its script is replayed. In base64. */
const mostImageBytes = 8 * 1024 * 1024;
/** Longer names are none of those that are looked for. */
const longestName = 64;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** A member that may have so much and no more, while it comes. */
interface Measured {
  readonly depth: number;
  readonly most: number;
  readonly instead: string;
  readonly parts: Buffer[];
  bytes: number;
  values: number;
  /** By depth: of the object that is open there. */
  readonly names: number[];
  /** Of the object that has most. */
  namesAtMost: number;
}

interface LargeTerms {
  readonly length: number;
  /** Kept of it, all in all. */
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
  /** The text that was read last, with its quotes, where it may be a name that is looked for. */
  #name: Buffer[] = [];
  #nameBytes = 0;
  /** The member of the frame itself that is open. */
  #member = "";
  #measured: Measured | undefined;

  constructor(terms: LargeTerms, bounds: FrameBounds) {
    this.#missing = terms.length;
    this.#terms = terms;
    this.#bounds = bounds;
  }

  /** Bytes that have not come yet. */
  get missing(): number {
    return this.#missing;
  }

  /** @throws ProtocolBroken when it is nested too deeply, or more bytes or values of it would be kept than may be */
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

  /** @returns where the text ends, or this part does */
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

  /** Behind a colon: what is to be measured of the member that begins. */
  #named(): Measured | undefined {
    const depth = this.#depth;
    if (this.#measured !== undefined || (depth !== 1 && depth !== 3)) return undefined;
    if (depth === 3 && this.#nameBytes < '"arguments"'.length) return undefined; // no spelling of it is shorter
    const name = this.#nameBytes > longestName ? "" : spelled(Buffer.concat(this.#name));
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

  #endMeasured(measured: Measured): void {
    const { bytes, values, instead, parts } = measured;
    this.#measured = undefined;
    if (this.#isCut(measured)) this.#keep(Buffer.from(`${instead},"cutBytes":${bytes}`));
    else {
      this.#keptBytes -= bytes; // counted when it came
      for (const part of parts) this.#keep(part);
      this.#count(values);
    }
  }

  #isCut({ bytes, most, values, namesAtMost }: Measured): boolean {
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

  /** What is measured is counted by itself until all of it is there. */
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

/** However it is spelled. */
function spelled(text: Buffer): string {
  try {
    const name: unknown = JSON.parse(text.toString());
    return typeof name === "string" ? name : "";
  } catch {
    return ""; // no name, and so no JSON: the parser says so
  }
}
