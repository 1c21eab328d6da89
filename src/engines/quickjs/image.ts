/**
 * The image of a frozen script: a head that must fit, and its memory as the difference from an engine that has run nothing.
 * The digest finds damage. The signature around an image (not here) finds changes on purpose.
 */
import { createHash } from "node:crypto";
import { crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Snapshot } from "quickjs-wasi";
import { isJsonObject } from "../../core/json.ts";

/** The handles of the prelude's functions in the memory. */
export interface Slots {
  readonly settle: number;
  readonly drain: number;
  readonly tick: number;
  readonly follow: number;
  readonly begin: number;
  readonly notice: number;
}

export interface ImageHead {
  readonly engine: string;
  readonly slots: Slots;
  readonly stackPointer: number;
  readonly runtimePointer: number;
  readonly contextPointer: number;
  readonly memoryBytes: number;
  /** The script's time (script-clock.ts). */
  readonly microseconds: number;
  /** The digest of the memory that the difference is taken from. */
  readonly base: string;
  readonly lines?: readonly number[];
  readonly printedBytes: number;
}

const slotNames = ["settle", "drain", "tick", "follow", "begin", "notice"] as const;
const magic = Buffer.from("PQJS3\n");
const digestBytes = 32;

/** Loads the packing functions before a script needs them. */
export function makeReady(): void {
  crc32(createHash("sha256").digest()); // loads both; compressing would keep memory
}

export function packImage(head: Omit<ImageHead, "base">, memory: Uint8Array, base: Uint8Array): Buffer {
  const headBytes = Buffer.from(JSON.stringify({ ...head, base: digestOfBase(base) }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(headBytes.length);
  const body = Buffer.concat([length, headBytes, zstdCompressSync(difference(memory, base))]);
  return Buffer.concat([magic, createHash("sha256").update(body).digest(), body]);
}

/** Reads the head. Returns undefined when the image is damaged or from another engine. */
export function readHead(image: Uint8Array): { readonly head: ImageHead; readonly packed: Buffer } | undefined {
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength);
  const start = magic.length + digestBytes;
  if (bytes.length < start + 4 || !bytes.subarray(0, magic.length).equals(magic)) return undefined;
  const body = bytes.subarray(start);
  if (!createHash("sha256").update(body).digest().equals(bytes.subarray(magic.length, start))) return undefined;
  const length = body.readUInt32BE(0);
  const head = parsed(body.subarray(4, 4 + length));
  return head === undefined ? undefined : { head, packed: body.subarray(4 + length) };
}

/** @throws Error when it does not match its head or was made from another base */
export function snapshotOf(
  { head, packed }: { readonly head: ImageHead; readonly packed: Buffer },
  base: Snapshot,
): Snapshot {
  if (head.base !== digestOfBase(base.memory)) throw new Error("The image was made from another engine's memory.");
  const changed = zstdDecompressSync(packed, { maxOutputLength: head.memoryBytes });
  if (changed.length !== head.memoryBytes) throw new Error("The image holds another amount of memory than it says.");
  const memory = difference(changed, base.memory);
  return {
    memory,
    stackPointer: head.stackPointer,
    runtimePtr: head.runtimePointer,
    contextPtr: head.contextPointer,
    extensions: base.extensions,
  };
}

/** XOR: equal words become zero, which packs well. It is its own inverse. */
function difference(memory: Uint8Array, base: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(memory);
  const words = Math.min(changed.length, base.length) >> 2; // a memory is pages of 64 KiB
  const [own, other] = [new Int32Array(changed.buffer, 0, words), new Int32Array(base.buffer, base.byteOffset, words)];
  for (let i = 0; i < words; i++) own[i] = (own[i] ?? 0) ^ (other[i] ?? 0);
  return changed;
}

/** Cached by the memory, of which a process has one. */
const digests = new WeakMap<Uint8Array, string>();

function digestOfBase(base: Uint8Array): string {
  const known = digests.get(base) ?? createHash("sha256").update(base).digest("hex");
  digests.set(base, known);
  return known;
}

function parsed(bytes: Buffer): ImageHead | undefined {
  let head: unknown;
  try {
    head = JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined; // a digest fits anything that was digested
  }
  if (!isJsonObject(head) || typeof head["engine"] !== "string" || typeof head["base"] !== "string") return undefined;
  const numbers = ["stackPointer", "runtimePointer", "contextPointer", "memoryBytes", "printedBytes"].every((name) =>
    isSize(head[name]),
  );
  const { slots, microseconds } = head;
  if (!Number.isSafeInteger(microseconds)) return undefined;
  const inPlace = isJsonObject(slots) && slotNames.every((name) => isSize(slots[name]));
  return numbers && inPlace ? (head as unknown as ImageHead) : undefined; // every field was looked at above; `lines` only moves numbers shown to people
}

function isSize(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= 0xffff_ffff;
}
