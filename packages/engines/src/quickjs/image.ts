/**
 * The image of a frozen script: a head that must fit, and its memory as the difference from an engine that has run nothing.
 * The digest finds damage. The signature around an image (code-mode/frozen.ts) finds changes on purpose.
 */
import { createHash } from "node:crypto";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { isJsonObject } from "@postern/core";
import type { Snapshot } from "quickjs-wasi";

/** The functions of the prelude that the engine calls. */
export const slotNames = ["settle", "drain", "tick", "follow", "begin", "notice"] as const;
export type Slots<T = number> = Readonly<Record<(typeof slotNames)[number], T>>;

/** Makes a value for each function of the prelude. */
export function slotsOf<T>(make: (name: keyof Slots) => T): Slots<T> {
  return Object.fromEntries(slotNames.map((name) => [name, make(name)])) as Slots<T>; // every name is there
}

export interface ImageHead {
  readonly engine: string;
  /** The handles of the prelude's functions in the memory. */
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

const magic = Buffer.from("PQJS3\n");
const digestBytes = 32;

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
  try {
    const head: unknown = JSON.parse(body.toString("utf8", 4, 4 + length));
    return isHead(head) ? { head, packed: body.subarray(4 + length) } : undefined;
  } catch {
    return undefined; // not JSON, although its digest fits
  }
}

/** @throws Error when it does not match its head or was made from another base */
export function snapshotOf(
  { head, packed }: { readonly head: ImageHead; readonly packed: Buffer },
  base: Snapshot,
): Snapshot {
  if (head.base !== digestOfBase(base.memory)) throw new Error("The image was made from another engine's memory.");
  const changed = zstdDecompressSync(packed, { maxOutputLength: head.memoryBytes });
  if (changed.length !== head.memoryBytes) throw new Error("The image holds another amount of memory than it says.");
  return {
    memory: difference(changed, base.memory),
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

function digestOfBase(base: Uint8Array): string {
  return createHash("sha256").update(base).digest("hex");
}

function isHead(head: unknown): head is ImageHead {
  if (!isJsonObject(head) || typeof head["engine"] !== "string" || typeof head["base"] !== "string") return false;
  const { slots, microseconds, stackPointer, runtimePointer, contextPointer, memoryBytes, printedBytes } = head;
  const sizes = [stackPointer, runtimePointer, contextPointer, memoryBytes, printedBytes];
  const handles = isJsonObject(slots) ? slotNames.map((name) => slots[name]) : [undefined];
  return Number.isSafeInteger(microseconds) && [...sizes, ...handles].every(isSize);
}

function isSize(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= 0xffff_ffff;
}
