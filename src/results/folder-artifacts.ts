import { hash } from "node:crypto";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Principal } from "../calls/call.ts";
import type { Clock } from "../calls/clock.ts";
import type { ArtifactMeta, ArtifactShelf } from "./artifact-store.ts";
import { makeFolder, writeWhole } from "./atomic-file.ts";
import { isDigest, type Release, releasedTo, releaseTo, shared, unavailable } from "./releases.ts";

export interface FolderArtifactsOptions {
  /** Belongs to one process at a time, as the data folder it lies in does. */
  readonly folder: string;
  readonly clock: Clock;
}

/** What stands beside the bytes. Without it the bytes are not there: it is written last and removed first. */
interface Sidecar {
  readonly bytes: number;
  /** ISO 8601: when the bytes came first. */
  readonly storedAt: string;
  readonly pins: number;
  readonly releases: readonly Release[];
}

/**
 * Artifacts in a folder: bytes at `ab/cdef…` by their SHA-256, beside them a `.json` with size, pins and releases.
 * Pins survive the process, because stored outcomes and open approvals refer to artifacts (D10): a pin of a process that
 * died stays, and its bytes with it.
 */
export async function openFolderArtifacts({ folder, clock }: FolderArtifactsOptions): Promise<ArtifactShelf> {
  const temporary = join(folder, "tmp");
  await rm(temporary, { recursive: true, force: true });
  await makeFolder(temporary);
  return new FolderArtifacts(folder, temporary, clock);
}

class FolderArtifacts implements ArtifactShelf {
  readonly #folder: string;
  readonly #temporary: string;
  readonly #clock: Clock;
  /** The end of the last change of each digest: a sidecar is read, changed and written by one at a time. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(folder: string, temporary: string, clock: Clock) {
    this.#folder = folder;
    this.#temporary = temporary;
    this.#clock = clock;
  }

  put(bytes: Uint8Array, mediaType: string, owner: Principal): Promise<ArtifactMeta> {
    const digest = hash("sha256", bytes, "hex");
    return this.#alone(digest, async () => {
      const path = this.#path(digest);
      const found = await this.#sidecar(digest);
      const whole = found !== undefined && (await sizeOf(path)) === bytes.length;
      if (!whole) {
        await makeFolder(dirname(path));
        await writeWhole(path, bytes, this.#temporary);
      }
      const releases = releasedTo(found?.releases ?? [], owner, mediaType);
      const storedAt = found?.storedAt ?? new Date(this.#clock.now()).toISOString();
      const pins = (found?.pins ?? 0) + 1;
      await this.#write(digest, { bytes: bytes.length, storedAt, pins, releases });
      return { digest, mediaType, bytes: bytes.length };
    });
  }

  async mayUse(digest: string, principal: Principal): Promise<boolean> {
    try {
      const sidecar = await this.#sidecar(digest);
      return releaseTo(sidecar?.releases ?? [], principal) !== undefined;
    } catch {
      return false; // what cannot be read cannot be used: `open` says why
    }
  }

  async open(
    digest: string,
    principal: Principal,
  ): Promise<{ readonly meta: ArtifactMeta; readonly bytes: Uint8Array }> {
    const release = releaseTo((await this.#sidecar(digest))?.releases ?? [], principal);
    if (release === undefined) throw unavailable(digest);
    const bytes = await readFile(this.#path(digest)).catch((error: unknown) => {
      throw unavailable(digest, error);
    });
    if (hash("sha256", bytes, "hex") !== digest) {
      throw unavailable(digest, new Error("The bytes on the disk are not the ones that were kept."));
    }
    return { meta: { digest, mediaType: release.mediaType, bytes: bytes.length }, bytes };
  }

  pin(digest: string): Promise<void> {
    return this.#change(digest, (found) => ({ ...found, pins: found.pins + 1 }));
  }

  async unpin(digest: string): Promise<void> {
    await this.#alone(digest, async () => {
      const found = await this.#sidecar(digest);
      if (found !== undefined && found.pins > 0) {
        await this.#write(digest, { ...found, pins: found.pins - 1 });
      }
    });
  }

  release(digest: string, principal: Principal): Promise<void> {
    return this.#change(digest, (found) => ({
      ...found,
      releases: shared(digest, found.releases, principal),
    }));
  }

  async sweep(): Promise<number> {
    let removed = 0;
    for (const entry of await readdir(this.#folder, { recursive: true, withFileTypes: true })) {
      const digest = basename(entry.parentPath) + entry.name;
      if (entry.isFile() && isDigest(digest) && (await this.#removeLoose(digest))) removed += 1;
    }
    return removed;
  }

  /** Bytes without a sidecar were left by a crash between the two writes: nothing refers to them. */
  #removeLoose(digest: string): Promise<boolean> {
    return this.#alone(digest, async () => {
      const found = await this.#sidecar(digest).catch(() => "unreadable" as const);
      // Whether an unreadable one is pinned is not known, so it stays.
      if (found === "unreadable" || (found !== undefined && found.pins > 0)) return false;
      await rm(`${this.#path(digest)}.json`, { force: true });
      await rm(this.#path(digest), { force: true });
      return true;
    });
  }

  #change(digest: string, change: (found: Sidecar) => Sidecar): Promise<void> {
    return this.#alone(digest, async () => {
      const found = await this.#sidecar(digest);
      if (found === undefined) throw unavailable(digest);
      await this.#write(digest, change(found));
    });
  }

  async #sidecar(digest: string): Promise<Sidecar | undefined> {
    if (!isDigest(digest)) return undefined;
    try {
      // The file is ours: it lies in the data folder, and only `#write` makes it.
      return JSON.parse(await readFile(`${this.#path(digest)}.json`, "utf8")) as Sidecar;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unavailable(digest, error);
    }
  }

  #write(digest: string, sidecar: Sidecar): Promise<void> {
    return writeWhole(`${this.#path(digest)}.json`, JSON.stringify(sidecar), this.#temporary);
  }

  #path(digest: string): string {
    return join(this.#folder, digest.slice(0, 2), digest.slice(2));
  }

  async #alone<T>(digest: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(digest) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#queues.set(digest, mine);
    try {
      return await mine;
    } finally {
      if (this.#queues.get(digest) === mine) this.#queues.delete(digest);
    }
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
