import { createHash, randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, defined, type Principal } from "@postern/core";
import { codeOf, Locks } from "@postern/core/system";
import { makeFolder, placeDraft, writeDraft, writeWhole } from "../system/whole-file.ts";
import type { ArtifactMeta, ArtifactStream, ByteRange, FindNeeded, SharedArtifactStore } from "./artifact-store.ts";
import { checkDigest, checkJudge, checkNeeded, checkPut, checkPutStream, checkUse } from "./checks.ts";
import { ArtifactHolds } from "./holds.ts";
import type { Judgement } from "./judgement.ts";
import { isDigest, judged, mayRead, metaFor, type Release, releasedTo, shared, unavailable } from "./releases.ts";
import { checkUnshared, identify, type SharedFolderOptions, usable, usualHoldMs } from "./shared-folder.ts";
import { SharedSidecars } from "./shared-sidecars.ts";
import { artifactFile, FileSidecars, type NextSidecar, type Sidecar, type Sidecars } from "./sidecars.ts";
import { collectSoon, digestOf, pieceBytes } from "./streams.ts";

export interface FolderArtifactsOptions {
  /** Used by one process at a time, like the data folder that contains it, unless it is `shared`. */
  readonly folder: string;
  readonly clock: Clock;
  /** How long an artifact stays at least, in milliseconds. */
  readonly retentionMs: number;
  /** The store of all processes that may use the folder; `clock` has its time. */
  readonly shared?: SharedFolderOptions | undefined;
}

/**
 * Artifacts in a folder: bytes at `ab/cdef…` by their SHA-256, with a sidecar that has size, time and releases.
 * The reason to keep one is not stored here: sessions pin them while the process lives, rows need the others.
 *
 * @throws RuntimeFault `config_invalid`, `disk_full`
 */
export async function openFolderArtifacts(options: FolderArtifactsOptions): Promise<FolderArtifacts> {
  const { folder, clock, shared } = options;
  const temporary = join(folder, "tmp");
  const files = new FileSidecars(folder, temporary);
  await usable(folder, async () => {
    if (shared === undefined) {
      await checkUnshared(folder);
      await rm(temporary, { recursive: true, force: true });
    }
    await makeFolder(temporary);
  });
  if (shared === undefined) return new FolderArtifacts(options, { temporary, sidecars: files });
  const folderId = await usable(folder, () => identify({ ...shared, folder, clock }));
  const { store, holdMs = usualHoldMs } = shared;
  const sidecars = new SharedSidecars({ store, folderId, earlier: files, clock, holdMs });
  return new FolderArtifacts(options, { temporary, sidecars, shared: { folderId, holdMs } });
}

/** How many artifacts one query asks about. */
const sweptAtOnce = 256;
/** How old a file without a sidecar must be before it is removed: a day with the usual hold. */
const strayHolds = 12;

interface FoundFile {
  readonly digest: string;
  readonly file: string;
}

interface FolderParts {
  readonly temporary: string;
  readonly sidecars: Sidecars;
  readonly shared?: { readonly folderId: string; readonly holdMs: number };
}

export class FolderArtifacts implements SharedArtifactStore {
  readonly #folder: string;
  readonly #parts: FolderParts;
  readonly #clock: Clock;
  readonly #retentionMs: number;
  readonly #holds: ArtifactHolds;
  /** One at a time reads, changes and writes a sidecar. */
  readonly #changes = new Locks();
  /** Counted again by each sweep. */
  #totalBytes: number | undefined;

  constructor({ folder, clock, retentionMs }: FolderArtifactsOptions, parts: FolderParts) {
    this.#folder = folder;
    this.#parts = parts;
    this.#clock = clock;
    this.#retentionMs = retentionMs;
    this.#holds = new ArtifactHolds(clock);
  }

  get totalBytes(): number | undefined {
    return this.#totalBytes;
  }

  /** Present if other processes may use the folder. */
  get shared(): FolderParts["shared"] {
    return this.#parts.shared;
  }

  async put(bytes: Uint8Array, mediaType: string, owner: Principal, judgement?: Judgement): Promise<ArtifactMeta> {
    checkPut(bytes, mediaType, owner);
    const digest = await digestOf(bytes);
    const write = (path: string): Promise<void> => writeWhole(path, bytes, this.#parts.temporary);
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
    const draft = await writeDraft(chunks, this.#parts.temporary, (chunk) => {
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
    let placed: Pick<Sidecar, "file"> | undefined;
    let used: Pick<Sidecar, "file"> | undefined;
    this.#holds.pin(digest);
    try {
      await this.#change(digest, async (found) => {
        const isWhole = found !== undefined && (await sizeOf(this.#path(digest, found.file))) === bytes;
        if (!isWhole) placed ??= await this.#place(digest, bytes, write);
        used = isWhole ? found : placed;
        const releases = releasedTo(found?.releases ?? [], owner, { mediaType, ...(judgement && { judgement }) });
        const storedAt = new Date(this.#clock.now()).toISOString();
        return { ...found, bytes, storedAt, releases, ...defined({ file: used?.file }) };
      });
      if (placed?.file !== used?.file) await this.#removeBytes(digest, placed?.file); // another process was faster
    } catch (error) {
      this.#holds.unpin(digest);
      throw error;
    }
    return meta;
  }

  async #place(digest: string, bytes: number, write: (path: string) => Promise<void>): Promise<Pick<Sidecar, "file">> {
    const file = this.#parts.sidecars.newFile(digest);
    const path = this.#path(digest, file);
    await makeFolder(dirname(path));
    await write(path);
    if (this.#totalBytes !== undefined) this.#totalBytes += bytes;
    return defined({ file });
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
    return (await this.#found(digest, principal)).meta;
  }

  async #found(digest: string, principal: Principal): Promise<{ readonly meta: ArtifactMeta; readonly path: string }> {
    checkUse(digest, principal);
    const found = await this.#used(digest);
    if (found === undefined) throw unavailable(digest);
    const meta = metaFor({ digest, bytes: found.bytes }, found.releases, principal);
    return { meta, path: this.#path(digest, found.file) };
  }

  async open(
    digest: string,
    principal: Principal,
  ): Promise<{ readonly meta: ArtifactMeta; readonly bytes: Uint8Array }> {
    const { meta, path } = await this.#found(digest, principal);
    const bytes = await readFile(path).catch((error: unknown) => {
      throw unavailable(digest, error);
    });
    if ((await digestOf(bytes)) !== digest) {
      throw unavailable(digest, damaged());
    }
    return { meta: { ...meta, bytes: bytes.length }, bytes };
  }

  async openStream(digest: string, principal: Principal, range: ByteRange = {}): Promise<ArtifactStream> {
    const { meta, path } = await this.#found(digest, principal);
    if ((await sizeOf(path)) !== meta.bytes) throw unavailable(digest, damaged());
    return { meta, chunks: readInPieces(path, meta, range) };
  }

  async pin(digest: string): Promise<void> {
    checkDigest(digest);
    return this.#changes.with([digest], async () => {
      if ((await this.#parts.sidecars.hold(digest)) === undefined) throw unavailable(digest);
      this.#holds.pin(digest);
    });
  }

  async unpin(digest: string): Promise<void> {
    checkDigest(digest);
    this.#holds.unpin(digest);
  }

  /** Holds again, against the sweeps of other processes, what is pinned. */
  async holdPinned(): Promise<void> {
    for (const digest of this.#holds.pinned) await this.#parts.sidecars.hold(digest);
  }

  async release(digest: string, principal: Principal): Promise<void> {
    checkUse(digest, principal);
    return this.#changeReleases(digest, (releases) => shared(digest, releases, principal));
  }

  async judge(digest: string, principal: Principal, judgement: Judgement): Promise<void> {
    checkJudge(digest, principal, judgement);
    return this.#changeReleases(digest, (releases) => judged(digest, releases, { principal, judgement }));
  }

  #changeReleases(digest: string, change: (releases: readonly Release[]) => readonly Release[]): Promise<void> {
    return this.#change(digest, (found) => {
      if (found === undefined) throw unavailable(digest);
      return { ...found, releases: change(found.releases) };
    });
  }

  #change(digest: string, next: NextSidecar): Promise<void> {
    return this.#changes.with([digest], () => this.#parts.sidecars.change(digest, next));
  }

  async sweep(needed: FindNeeded): Promise<number> {
    checkNeeded(needed);
    const strayUntil = await this.#sweepDrafts();
    const loose: FoundFile[] = [];
    let total = 0;
    for await (const one of this.#files()) {
      const found = await fileState(this.#path(one.digest, one.file));
      total += found?.size ?? 0;
      if (found !== undefined && (await this.#isLoose(one, found.mtimeMs < strayUntil))) loose.push(one);
    }
    this.#totalBytes = total;
    let removed = 0;
    for (let i = 0; i < loose.length; i += sweptAtOnce) {
      const files = loose.slice(i, i + sweptAtOnce);
      const kept = await needed(files.map(({ digest }) => digest));
      for (const one of files) if (!kept.has(one.digest) && (await this.#removeLoose(one))) removed += 1;
    }
    this.#holds.forgetOld();
    return removed;
  }

  /**
   * Files without a sidecar that were written earlier are from a crash. Several processes compare only times of the
   * folder's own clock.
   */
  async #sweepDrafts(): Promise<number> {
    const { shared, temporary } = this.#parts;
    if (shared === undefined) return Number.POSITIVE_INFINITY;
    const probe = join(temporary, randomUUID());
    await writeFile(probe, "", { mode: 0o600 });
    const until = (await stat(probe)).mtimeMs - strayHolds * shared.holdMs;
    await rm(probe, { force: true });
    for (const name of await readdir(temporary)) {
      const draft = join(temporary, name);
      if (((await fileState(draft))?.mtimeMs ?? until) < until) await rm(draft, { force: true });
    }
    return until;
  }

  async *#files(): AsyncGenerator<FoundFile, void> {
    for (const { name: first } of await readdir(this.#folder, { withFileTypes: true })) {
      if (!/^[0-9a-f]{2}$/.test(first)) continue;
      for (const file of await readdir(join(this.#folder, first))) {
        const [, rest] = artifactFile.exec(file) ?? [];
        if (rest !== undefined) yield { digest: first + rest, file };
      }
    }
  }

  /** Decides again, because it may have been put or used since the rows were asked. */
  async #removeLoose({ digest, file }: FoundFile): Promise<boolean> {
    return this.#changes.with([digest], async () => {
      let isRemoved = false;
      await this.#parts.sidecars.change(digest, (found) => {
        const isStray = found === undefined || nameOf(digest, found) !== file;
        isRemoved = isStray || this.#isOver(digest, found);
        return isRemoved && !isStray ? "removed" : undefined;
      });
      if (isRemoved) await this.#removeBytes(digest, file);
      return isRemoved;
    });
  }

  async #removeBytes(digest: string, file: string | undefined): Promise<void> {
    const path = this.#path(digest, file);
    const bytes = (await sizeOf(path)) ?? 0;
    await rm(path, { force: true });
    if (this.#totalBytes !== undefined) this.#totalBytes -= bytes;
  }

  async #isLoose({ digest, file }: FoundFile, mayBeStray: boolean): Promise<boolean> {
    const found = await this.#parts.sidecars.get(digest).catch(() => "unreadable" as const);
    if (found === "unreadable" || this.#holds.has(digest)) return false; // its owner is unknown, so it stays
    if (found === undefined || nameOf(digest, found) !== file) return mayBeStray;
    return this.#isOver(digest, found);
  }

  #isOver(digest: string, { storedAt, heldUntil = 0 }: Sidecar): boolean {
    const now = this.#clock.now();
    return !this.#holds.has(digest) && Date.parse(storedAt) + this.#retentionMs <= now && heldUntil <= now;
  }

  /** Marks it as used before it is read. A sweep that has begun is waited for; a later one sees the mark. */
  async #used(digest: string): Promise<Sidecar | undefined> {
    if (!isDigest(digest)) return undefined;
    this.#holds.use(digest);
    await this.#changes.over(digest);
    return this.#parts.sidecars.hold(digest);
  }

  #path(digest: string, file = digest.slice(2)): string {
    return join(this.#folder, digest.slice(0, 2), file);
  }
}

function nameOf(digest: string, { file = digest.slice(2) }: Sidecar): string {
  return file;
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await fileState(path))?.size;
}

async function fileState(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
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
