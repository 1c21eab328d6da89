/**
 * A frozen script: what must fit, then what its memory has that the memory of an engine that has run nothing has not, packed;
 * what every script shares takes no room. A digest finds damage; the seal around an image finds malice.
 */
import { createHash } from "node:crypto";
import { crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Snapshot } from "quickjs-wasi";
import { isJsonObject } from "../../../calls/json.ts";

/** Where the mailbox's slots are in the memory. */
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
  /** Of the memory it is compressed against. */
  readonly base: string;
  readonly lines?: readonly number[];
  readonly printedBytes: number;
}

const slotNames = ["settle", "drain", "tick", "follow", "begin", "notice"] as const;
const magic = Buffer.from("PQJS3\n");
const digestBytes = 32;

/** What packs and unpacks is loaded with its first use: who has time has that behind them. */
export function makeReady(): void {
  crc32(createHash("sha256").digest()); // the least that loads both; compressing would leave its memory behind
}

export function packImage(head: Omit<ImageHead, "base">, memory: Uint8Array, base: Uint8Array): Buffer {
  const headBytes = Buffer.from(JSON.stringify({ ...head, base: digestOfBase(base) }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(headBytes.length);
  const body = Buffer.concat([length, headBytes, zstdCompressSync(difference(memory, base))]);
  return Buffer.concat([magic, createHash("sha256").update(body).digest(), body]);
}

/** What the image says of itself. Undefined: it is none of ours, or damaged. */
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

/** @throws Error when it is not what the head says, or was made from another base */
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

/** What is the same is nothing, which packs well and fast. Its own inverse. */
function difference(memory: Uint8Array, base: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(memory);
  const words = Math.min(changed.length, base.length) >> 2; // a memory is pages of 64 KiB
  const [own, other] = [new Int32Array(changed.buffer, 0, words), new Int32Array(base.buffer, base.byteOffset, words)];
  for (let i = 0; i < words; i++) own[i] = (own[i] ?? 0) ^ (other[i] ?? 0);
  return changed;
}

/** By the memory: a process has one of them. */
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
