/**
 * Scripts that wait for persons, in the store: sealed, each with the engine build its image fits.
 *
 * Invariant: an image is opened only for the call it was made of, and only the one that the row names by its digest; where
 * there is none, the ledger still knows what the script did, and it is replayed.
 */
import { promisify } from "node:util";
import { zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from "node:zlib";
import type { DurableEvent } from "../core/event.ts";
import { canonical, isJsonObject, type Json, type JsonObject, sha256 } from "../core/json.ts";
import type { ChainSummary } from "../core/scripts.ts";
import type { SessionState } from "../core/session.ts";
import type { AskedCall } from "../engines/sandbox.ts";
import { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import type { Halted } from "./drive.ts";
import type { ImageKey } from "./image-key.ts";
import { type JournalState, linesOfCalls } from "./journal.ts";
import { seal, unseal } from "./seal.ts";

const kind = "frozen-script";
/** The header once more, without the image: lists read it, and an image may be large. */
const headerKind = "frozen-header";

const format = 1;
const [packElsewhere, unpackElsewhere] = [promisify(zstdCompress), promisify(zstdDecompress)];
/** Most scripts are smaller, and packed in the time that it takes to ask another thread. */
const atOnceBytes = 256 * 1024;

/** What may be read without the key; it is bound to what is sealed. */
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
  /** Which line made which call, of those that have ended. Not in what an earlier Postern put away. */
  readonly lines?: ChainSummary["lines"];
  /** Bytes of the engine's image; 0: it is replayed. */
  readonly imageBytes: number;
  /** How what is sealed was made smaller. Not in what an earlier Postern put away: it is as it was. */
  readonly packed?: "zstd";
}

export interface FrozenWait {
  readonly approvalId: string;
  readonly tool: string;
  readonly line?: number;
}

/** What is sealed. */
export interface FrozenScript {
  readonly header: FrozenHeader;
  readonly session: SessionState;
  readonly journal: JournalState;
  readonly batch: readonly AskedCall[];
  readonly image: Uint8Array | undefined;
  /** Not in what an earlier Postern put away. */
  readonly usedCpuMs?: number;
}

export type Taken =
  | { readonly script: FrozenScript }
  | { readonly refused: string }
  /** It is not kept any more, or cannot be opened here: the ledger still knows what the script did. */
  | { readonly gone: true; readonly why?: string };

export class FrozenScripts {
  readonly #scripts: Collection<Json>;
  readonly #headers: Collection<Json>;
  readonly #key: ImageKey;

  constructor(store: Store, key: ImageKey) {
    this.#scripts = new Collection({ store, kind, read: (body) => body });
    this.#headers = new Collection({ store, kind: headerKind, read: (body) => body });
    this.#key = key;
  }

  /** @returns the reference that the row of the script keeps */
  async put(
    halted: Halted,
    about: Omit<FrozenHeader, "format" | "keyId" | "waiting" | "lines" | "imageBytes" | "expiresAt" | "packed">,
    event: DurableEvent,
  ): Promise<string> {
    const { session, journal, batch, image, waiting, expiresAt, usedCpuMs } = halted;
    const waits = batch.flatMap(({ place, tool, line }): readonly FrozenWait[] => {
      const approvalId = waiting.get(place);
      return approvalId === undefined ? [] : [{ approvalId, tool, ...(line !== undefined && { line }) }];
    });
    const header: FrozenHeader = {
      ...about,
      format,
      keyId: this.#key.id,
      expiresAt,
      waiting: waits,
      lines: linesOfCalls(journal.lines),
      imageBytes: image?.byteLength ?? 0,
      packed: "zstd",
    };
    // Without an image the script begins anew, and asks for all of it again.
    const text = Buffer.from(JSON.stringify({ session, journal, batch: image ? batch : [], usedCpuMs }));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.byteLength);
    const plain = Buffer.concat([length, text, image ?? Buffer.alloc(0)]);
    const packed = plain.byteLength <= atOnceBytes ? zstdCompressSync(plain) : await packElsewhere(plain);
    const sealed = seal(packed, spelled(header), this.#key);
    // Plain data, read back as such.
    const body = { header, sealed: Buffer.from(sealed).toString("base64") } as unknown as JsonObject;
    await this.#headers.change(about.key, () => ({ item: { header: body["header"] ?? null } }));
    await this.#scripts.change(about.key, () => ({ item: body, event }));
    return `${kind}:${sha256(sealed)}`;
  }

  async header(key: string): Promise<FrozenHeader | undefined> {
    const alone = headerIn(await this.#headers.get(key));
    return alone ?? headerIn(await this.#scripts.get(key)); // an earlier Postern kept both in one
  }

  /** Opens what the row names. A script that was changed is refused and not guessed at. */
  async take(reference: string, key: string): Promise<Taken> {
    const body = await this.#scripts.get(key);
    const header = headerIn(body);
    const sealed = isJsonObject(body) ? body["sealed"] : undefined;
    if (header === undefined || typeof sealed !== "string") return { gone: true };
    if (header.keyId !== this.#key.id)
      return { gone: true, why: "it was sealed with another key than this installation's" };
    const bytes = Buffer.from(sealed, "base64");
    const plain = header.key === key ? unseal(bytes, spelled(header), this.#key) : undefined;
    if (plain === undefined)
      return {
        refused:
          "The frozen script is not what was put away: it was changed. It does not go on; its calls are in the ledger.",
      };
    if (reference !== `${kind}:${sha256(bytes)}`) return { gone: true }; // another moment of the same script
    if (header.packed === undefined) return { script: { header, ...opened(Buffer.from(plain)) } };
    const unpacked = header.imageBytes <= atOnceBytes ? zstdDecompressSync(plain) : await unpackElsewhere(plain);
    return { script: { header, ...opened(unpacked) } };
  }

  /** Of all scripts that something was put away of. */
  keys(): Promise<readonly string[]> {
    return this.#scripts.ids();
  }

  /** It has ended: the room is given back. */
  async forget(key: string): Promise<void> {
    await this.#scripts.remove(key);
    await this.#headers.remove(key);
  }
}

function opened(plain: Buffer): Omit<FrozenScript, "header"> {
  const length = plain.readUInt32BE(0);
  const kept: Omit<FrozenScript, "header" | "image"> = JSON.parse(plain.subarray(4, 4 + length).toString()); // it was sealed by us
  const image = plain.subarray(4 + length);
  return { ...kept, image: image.byteLength === 0 ? undefined : image };
}

function spelled(header: FrozenHeader): string {
  return canonical(header as unknown as Json); // plain data
}

function headerIn(body: Json | undefined): FrozenHeader | undefined {
  const header = isJsonObject(body) ? body["header"] : undefined;
  return isJsonObject(header) && header["format"] === format ? (header as unknown as FrozenHeader) : undefined; // whoever acts on it opens the seal
}
