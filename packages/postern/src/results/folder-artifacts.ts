import { createHash } from "node:crypto";
import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock, Principal } from "@postern/core";
import { codeOf, Locks } from "@postern/core/system";
import { makeFolder, placeDraft, writeDraft, writeWhole } from "../system/whole-file.ts";
import type { ArtifactMeta, ArtifactStream, ByteRange, FindNeeded, SharedArtifactStore } from "./artifact-store.ts";
import { checkDigest, checkJudge, checkNeeded, checkPut, checkPutStream, checkUse } from "./checks.ts";
import { ArtifactHolds } from "./holds.ts";
import type { Judgement } from "./judgement.ts";
import { isDigest, judged, mayRead, metaFor, type Release, releasedTo, shared, unavailable } from "./releases.ts";
import { collectSoon, digestOf, pieceBytes } from "./streams.ts";

export interface FolderArtifactsOptions {
  /** Used by one process at a time, like the data folder that contains it. */
  readonly folder: string;
  readonly clock: Clock;
  /** How long an artifact stays at least, in milliseconds. */
  readonly retentionMs: number;
}

/** The file beside the bytes. It is written last and removed first, so bytes without it do not count. */
interface Sidecar {
  readonly bytes: number;
  /** ISO 8601: when the bytes were last put. */
  readonly storedAt: string;
  readonly releases: readonly Release[];
}

/**
 * Artifacts in a folder: bytes at `ab/cdef…` by their SHA-256, beside them a `.json` with size, time and releases.
 * The reason to keep one is not stored here: sessions pin them while the process lives, rows need the others.
 */
export async function openFolderArtifacts(options: FolderArtifactsOptions): Promise<SharedArtifactStore> {
  const temporary = join(options.folder, "tmp");
  await rm(temporary, { recursive: true, force: true });
  await makeFolder(temporary);
  return new FolderArtifacts(options, temporary);
}

/** How many artifacts one query asks about. */
const sweptAtOnce = 256;

class FolderArtifacts implements SharedArtifactStore {
  readonly #folder: string;
  readonly #temporary: string;
  readonly #clock: Clock;
  readonly #retentionMs: number;
  readonly #holds: ArtifactHolds;
  /** One at a time reads, changes and writes a sidecar. */
  readonly #changes = new Locks();

  constructor({ folder, clock, retentionMs }: FolderArtifactsOptions, temporary: string) {
    this.#folder = folder;
    this.#temporary = temporary;
    this.#clock = clock;
    this.#retentionMs = retentionMs;
    this.#holds = new ArtifactHolds(clock);
  }

  async put(bytes: Uint8Array, mediaType: string, owner: Principal, judgement?: Judgement): Promise<ArtifactMeta> {
    checkPut(bytes, mediaType, owner);
    const digest = await digestOf(bytes);
    const write = (path: string): Promise<void> => writeWhole(path, bytes, this.#temporary);
    return this.#keep({ digest, mediaType, bytes: bytes.length }, { owner, judgement }, write);
  }

  async putStream(
    chunks: AsyncIterable<Uint8Array>,
    mediaType: string,
    owner: Principal,
    judgement?: Judgement,
  ): Promise<ArtifactMeta> {
    checkPutStream(chunks, mediaType, owner);
    const hash = createHash("sha256");
    let bytes = 0;
    const draft = await writeDraft(chunks, this.#temporary, (chunk) => {
      hash.update(chunk);
      bytes += chunk.length;
    });
    try {
      const meta = { digest: hash.digest("hex"), mediaType, bytes };
      return await this.#keep(meta, { owner, judgement }, (path) => placeDraft(draft, path));
    } finally {
      await rm(draft, { force: true });
    }
  }

  /** Pinned before it is written, so that no sweep removes it. */
  async #keep(
    meta: ArtifactMeta,
    { owner, judgement }: { readonly owner: Principal; readonly judgement: Judgement | undefined },
    write: (path: string) => Promise<void>,
  ): Promise<ArtifactMeta> {
    const { digest, bytes, mediaType } = meta;
    this.#holds.pin(digest);
    try {
      await this.#changes.with([digest], async () => {
        const path = this.#path(digest);
        const found = await this.#sidecar(digest);
        const isWhole = found !== undefined && (await sizeOf(path)) === bytes;
        if (!isWhole) {
          await makeFolder(dirname(path));
          await write(path);
        }
        const releases = releasedTo(found?.releases ?? [], owner, { mediaType, ...(judgement && { judgement }) });
        const storedAt = new Date(this.#clock.now()).toISOString();
        await this.#write(digest, { bytes, storedAt, releases });
      });
    } catch (error) {
      this.#holds.unpin(digest);
      throw error;
    }
    return meta;
  }

  async mayUse(digest: string, principal: Principal): Promise<boolean> {
    checkUse(digest, principal);
    try {
      const sidecar = await this.#used(digest);
      return mayRead(sidecar?.releases ?? [], principal);
    } catch {
      return false; // an unreadable artifact cannot be used; `open` gives the reason
    }
  }

  async meta(digest: string, principal: Principal): Promise<ArtifactMeta> {
    checkUse(digest, principal);
    const found = await this.#used(digest);
    if (found === undefined) throw unavailable(digest);
    return metaFor({ digest, bytes: found.bytes }, found.releases, principal);
  }

  async open(
    digest: string,
    principal: Principal,
  ): Promise<{ readonly meta: ArtifactMeta; readonly bytes: Uint8Array }> {
    const meta = await this.meta(digest, principal);
    const bytes = await readFile(this.#path(digest)).catch((error: unknown) => {
      throw unavailable(digest, error);
    });
    if ((await digestOf(bytes)) !== digest) {
      throw unavailable(digest, damaged());
    }
    return { meta: { ...meta, bytes: bytes.length }, bytes };
  }

  async openStream(digest: string, principal: Principal, range: ByteRange = {}): Promise<ArtifactStream> {
    const meta = await this.meta(digest, principal);
    if ((await sizeOf(this.#path(digest))) !== meta.bytes) throw unavailable(digest, damaged());
    return { meta, chunks: readInPieces(this.#path(digest), meta, range) };
  }

  async pin(digest: string): Promise<void> {
    checkDigest(digest);
    return this.#changes.with([digest], async () => {
      if ((await this.#sidecar(digest)) === undefined) throw unavailable(digest);
      this.#holds.pin(digest);
    });
  }

  async unpin(digest: string): Promise<void> {
    checkDigest(digest);
    this.#holds.unpin(digest);
  }

  async release(digest: string, principal: Principal): Promise<void> {
    checkUse(digest, principal);
    return this.#change(digest, (releases) => shared(digest, releases, principal));
  }

  async judge(digest: string, principal: Principal, judgement: Judgement): Promise<void> {
    checkJudge(digest, principal, judgement);
    return this.#change(digest, (releases) => judged(digest, releases, { principal, judgement }));
  }

  #change(digest: string, change: (releases: readonly Release[]) => readonly Release[]): Promise<void> {
    return this.#changes.with([digest], async () => {
      const found = await this.#sidecar(digest);
      if (found === undefined) throw unavailable(digest);
      await this.#write(digest, { ...found, releases: change(found.releases) });
    });
  }

  async sweep(needed: FindNeeded): Promise<number> {
    checkNeeded(needed);
    const loose: string[] = [];
    for await (const digest of this.#digests()) if (await this.#isLoose(digest)) loose.push(digest);
    let removed = 0;
    for (let i = 0; i < loose.length; i += sweptAtOnce) {
      const digests = loose.slice(i, i + sweptAtOnce);
      const kept = await needed(digests);
      for (const digest of digests) if (!kept.has(digest) && (await this.#removeLoose(digest))) removed += 1;
    }
    this.#holds.forgetOld();
    return removed;
  }

  async *#digests(): AsyncGenerator<string, void> {
    for (const entry of await readdir(this.#folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      for (const rest of await readdir(join(this.#folder, entry.name)))
        if (isDigest(entry.name + rest)) yield entry.name + rest;
    }
  }

  /** Checks again, because it may have been put or used since the rows were asked. */
  #removeLoose(digest: string): Promise<boolean> {
    return this.#changes.with([digest], async () => {
      if (!(await this.#isLoose(digest))) return false;
      await rm(`${this.#path(digest)}.json`, { force: true });
      await rm(this.#path(digest), { force: true });
      return true;
    });
  }

  /** Bytes without a sidecar were left by a crash between the two writes. Nothing refers to them. */
  async #isLoose(digest: string): Promise<boolean> {
    const found = await this.#sidecar(digest).catch(() => "unreadable" as const);
    if (found === "unreadable" || this.#holds.has(digest)) return false; // its owner is unknown, so it stays
    return found === undefined || Date.parse(found.storedAt) + this.#retentionMs <= this.#clock.now();
  }

  /** Marks it as used before it is read. A sweep that has begun is waited for; a later one sees the mark. */
  async #used(digest: string): Promise<Sidecar | undefined> {
    if (!isDigest(digest)) return undefined;
    this.#holds.use(digest);
    await this.#changes.over(digest);
    return this.#sidecar(digest);
  }

  async #sidecar(digest: string): Promise<Sidecar | undefined> {
    if (!isDigest(digest)) return undefined;
    try {
      // Only `#write` writes this file in the data folder.
      return JSON.parse(await readFile(`${this.#path(digest)}.json`, "utf8")) as Sidecar;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw unavailable(digest, error);
    }
  }

  #write(digest: string, sidecar: Sidecar): Promise<void> {
    return writeWhole(`${this.#path(digest)}.json`, JSON.stringify(sidecar), this.#temporary);
  }

  #path(digest: string): string {
    return join(this.#folder, digest.slice(0, 2), digest.slice(2));
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A part cannot be checked against the digest of the whole. */
async function* readInPieces(
  path: string,
  { digest, bytes }: ArtifactMeta,
  { start = 0, end = bytes }: ByteRange,
): AsyncGenerator<Uint8Array, void> {
  const to = Math.min(end, bytes);
  if (start >= to && bytes > 0) return;
  const file = await open(path).catch((error: unknown) => {
    throw unavailable(digest, error);
  });
  const hash = start === 0 && to === bytes ? createHash("sha256") : undefined;
  try {
    for (let at = start; at < to; ) {
      const piece = new Uint8Array(Math.min(pieceBytes, to - at));
      const { bytesRead } = await file.read(piece, 0, piece.length, at);
      if (bytesRead === 0) throw unavailable(digest, damaged());
      at += bytesRead;
      const read = piece.subarray(0, bytesRead);
      hash?.update(read);
      yield read;
      collectSoon(bytesRead);
    }
  } finally {
    await file.close();
  }
  if (hash !== undefined && hash.digest("hex") !== digest) throw unavailable(digest, damaged());
}

function damaged(): Error {
  return new Error("The bytes on the disk are not the ones that were kept.");
}
