/**
 * Frozen scripts in the store. Each is sealed and names the engine build that its image fits.
 *
 * Invariant: an image is opened only for its own call, and only the image that the row names by its digest. Without one, the
 * script is replayed over the ledger.
 */

import { setImmediate } from "node:timers/promises";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import {
  type CallRecord,
  type ChainSummary,
  type Clock,
  canonical,
  type DurableEvent,
  defined,
  isJsonObject,
  type Json,
  type JsonObject,
} from "@postern/core";
import type { AskedCall } from "@postern/core/sandbox";
import { sha256 } from "@postern/core/system";
import type { SessionState } from "../call/session.ts";
import type { Ledger } from "../pipeline/ledger.ts";
import { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import { seal, unseal } from "../system/sealed-bytes.ts";
import type { ImageKey } from "./image-key.ts";
import { type JournalState, linesOfCalls } from "./journal.ts";
import { type TimedStep, type TimerStore, timedStepsFrom, timedStepsToJson } from "./script-timers.ts";

const kind = "frozen-script";
/** The header once more, without the image: lists read it, and an image may be large. */
const headerKind = "frozen-header";
const timersKind = "script-timers";

const format = 3;

/** The part that can be read without the key. It is bound to the sealed part. */
export interface FrozenHeader {
  readonly format: number;
  /** The script's key in the ledger. */
  readonly key: string;
  readonly keyId: string;
  readonly driver: string;
  readonly engine: string;
  readonly language: string;
  /** SHA-256 of the source. */
  readonly source: string;
  /** Wall clock, milliseconds. */
  readonly frozenAt: number;
  readonly expiresAt: number;
  readonly waiting: readonly FrozenWait[];
  /** The line of each call that has ended. */
  readonly lines: ChainSummary["lines"];
  /** Bytes of the engine's image. 0 when the script is replayed. */
  readonly imageBytes: number;
}

export interface FrozenWait {
  readonly approvalId: string;
  readonly tool: string;
  readonly line?: number;
}

/** The sealed part. */
export interface FrozenScript {
  readonly header: FrozenHeader;
  readonly session: SessionState;
  readonly journal: JournalState;
  readonly batch: readonly AskedCall[];
  readonly timerMs?: number;
  readonly image: Uint8Array | undefined;
  readonly usedCpuMs: number;
}

/** A script that waits for people, in its state before the batch with their calls. */
export interface HaltedScript {
  readonly session: SessionState;
  readonly journal: JournalState;
  readonly batch: readonly AskedCall[];
  /** Milliseconds to its next timer. Undefined when no timer runs. */
  readonly timerMs?: number;
  /** By place: the approval that a call of the batch waits for. */
  readonly waiting: ReadonlyMap<number, string>;
  /** The first of them, and the earliest time at which one expires. */
  readonly approvalId: string;
  readonly expiresAt: number;
  /** Undefined when this engine cannot be frozen; then the script is replayed. */
  readonly image: Uint8Array | undefined;
  /** Processor time that the script has used. It does not get this time again after the wait. */
  readonly usedCpuMs: number;
}

export type TakenScript =
  | { readonly script: FrozenScript }
  | { readonly refused: string }
  /** It is no longer stored, or cannot be opened here. The script is replayed over the ledger. */
  | { readonly gone: true; readonly why?: string };

export class FrozenScripts implements TimerStore {
  readonly #scripts: Collection<Json>;
  readonly #headers: Collection<Json>;
  readonly #timers: Collection<Json>;
  readonly #key: ImageKey;

  constructor(store: Store, key: ImageKey) {
    this.#scripts = new Collection({ store, kind, read: (body) => body });
    this.#headers = new Collection({ store, kind: headerKind, read: (body) => body });
    this.#timers = new Collection({ store, kind: timersKind, read: (body) => body });
    this.#key = key;
  }

  /** @returns the reference that the row of the script keeps */
  async put(
    halted: HaltedScript,
    about: Omit<FrozenHeader, "format" | "keyId" | "waiting" | "lines" | "imageBytes" | "expiresAt">,
    event: DurableEvent,
  ): Promise<string> {
    const { session, journal, batch, timerMs, image, waiting, expiresAt, usedCpuMs } = halted;
    const waits = batch.flatMap(({ place, tool, line }): readonly FrozenWait[] => {
      const approvalId = waiting.get(place);
      return approvalId === undefined ? [] : [{ approvalId, tool, ...defined({ line }) }];
    });
    const header: FrozenHeader = {
      ...about,
      format,
      keyId: this.#key.id,
      expiresAt,
      waiting: waits,
      lines: linesOfCalls(journal.lines),
      imageBytes: image?.byteLength ?? 0,
    };
    // Without an image the script runs again, and asks for its batch again.
    const text = Buffer.from(JSON.stringify({ session, journal, batch: image ? batch : [], timerMs, usedCpuMs }));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.byteLength);
    const packed = zstdCompressSync(Buffer.concat([length, text, image ?? Buffer.alloc(0)]));
    const sealed = seal(packed, textOf(header), this.#key.bytes);
    // Plain data, stored unchanged.
    const body = { header, sealed: Buffer.from(sealed).toString("base64") } as unknown as JsonObject;
    await this.#headers.change(about.key, () => ({ item: { header: body["header"] ?? null } }));
    await this.#scripts.change(about.key, () => ({ item: body, event }));
    return `${kind}:${sha256(sealed)}`;
  }

  async header(key: string): Promise<FrozenHeader | undefined> {
    return headerIn(await this.#headers.get(key));
  }

  /** Opens the document that the row names. A script that was changed is refused. */
  async take(reference: string, key: string): Promise<TakenScript> {
    const body = await this.#scripts.get(key);
    const header = headerIn(body);
    const sealed = isJsonObject(body) ? body["sealed"] : undefined;
    if (header === undefined || typeof sealed !== "string") return { gone: true };
    if (header.keyId !== this.#key.id)
      return { gone: true, why: "it was sealed with another key than this installation's" };
    const bytes = Buffer.from(sealed, "base64");
    const plain = header.key === key ? unseal(bytes, textOf(header), this.#key.bytes) : undefined;
    if (plain === undefined)
      return {
        refused:
          "The frozen script was changed after it was stored. It does not continue; its calls are in the ledger.",
      };
    if (reference !== `${kind}:${sha256(bytes)}`) return { gone: true }; // another state of the same script
    return { script: { header, ...opened(zstdDecompressSync(plain)) } };
  }

  async timedSteps(key: string): Promise<readonly TimedStep[]> {
    return timedStepsFrom(await this.#timers.get(key));
  }

  async keepTimedSteps(key: string, steps: readonly TimedStep[]): Promise<void> {
    await this.#timers.change(key, () => ({ item: timedStepsToJson(steps), durability: "synced" }));
  }

  /** The keys of all scripts that something is stored of. */
  async keys(): Promise<readonly string[]> {
    return [...new Set([...(await this.#scripts.ids()), ...(await this.#timers.ids())])];
  }

  /** Removes a script that has ended. */
  async forget(key: string): Promise<void> {
    await this.#scripts.remove(key);
    await this.#headers.remove(key);
    await this.#timers.remove(key);
  }
}

function opened(plain: Buffer): Omit<FrozenScript, "header"> {
  const length = plain.readUInt32BE(0);
  const kept: Omit<FrozenScript, "header" | "image"> = JSON.parse(plain.subarray(4, 4 + length).toString()); // only Postern could seal it
  const image = plain.subarray(4 + length);
  return { ...kept, image: image.byteLength === 0 ? undefined : image };
}

function textOf(header: FrozenHeader): string {
  return canonical(header as unknown as Json); // plain data
}

function headerIn(body: Json | undefined): FrozenHeader | undefined {
  const header = isJsonObject(body) ? body["header"] : undefined;
  return isJsonObject(header) && header["format"] === format ? (header as unknown as FrozenHeader) : undefined; // to act on it, the seal must open
}

/** A script is kept for this time after its request has expired. If it is sent again later, it is replayed. */
const keptMs = 30 * 86_400_000;

/** Removes frozen scripts that have ended, or that no caller has sent again. */
export async function sweepFrozen(frozen: FrozenScripts, ledger: Pick<Ledger, "find">, clock: Clock): Promise<void> {
  for (const key of await frozen.keys()) {
    if (!isNeeded(await ledger.find({ key }), clock.now())) await frozen.forget(key);
    await setImmediate(); // there may be thousands
  }
}

function isNeeded(row: CallRecord | undefined, now: number): boolean {
  switch (row?.state) {
    case "attempted":
      return true;
    case "suspended":
    case "unknown":
    case "held":
      return row.aliveUntil === undefined || now < row.aliveUntil + keptMs;
    default:
      return false;
  }
}
