import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "@postern/core/system";
import { writeWhole } from "../system/whole-file.ts";
import { isDigest, type Release, unavailable } from "./releases.ts";

/** What is known of stored bytes. It is written last and removed first, so bytes without it do not count. */
export interface Sidecar {
  readonly bytes: number;
  /** ISO 8601: when the bytes were last put. */
  readonly storedAt: string;
  readonly releases: readonly Release[];
  /** The name of the file with the bytes. Default: that of the digest. */
  readonly file?: string;
  /** Wall clock, milliseconds: until then no process sweeps it. Only in a folder that several processes may use. */
  readonly heldUntil?: number;
}

/** Bytes of an artifact, `cdef…` or `cdef….NAME`, in the folder of the first two digits. */
export const artifactFile = /^([0-9a-f]{62})(?:\.[0-9a-f]{16})?$/;

/** What a sidecar becomes. Undefined: it stays as it is. May run again. */
export type NextSidecar = (
  found: Sidecar | undefined,
) => Sidecar | "removed" | undefined | Promise<Sidecar | "removed" | undefined>;

/** Where sidecars are kept. The caller changes one digest at a time. */
export interface Sidecars {
  /** @throws RuntimeFault `artifact_unavailable` if it cannot be read */
  get(digest: string): Promise<Sidecar | undefined>;
  /** As `get`. What it returns is not swept by another process for a while. */
  hold(digest: string): Promise<Sidecar | undefined>;
  change(digest: string, next: NextSidecar): Promise<void>;
  /** The name of a new file for the bytes; undefined: that of the digest. */
  newFile(digest: string): string | undefined;
}

/** Sidecars as files beside the bytes, for one process. */
export class FileSidecars implements Sidecars {
  readonly #folder: string;
  readonly #temporary: string;

  constructor(folder: string, temporary: string) {
    this.#folder = folder;
    this.#temporary = temporary;
  }

  async get(digest: string): Promise<Sidecar | undefined> {
    if (!isDigest(digest)) return undefined;
    try {
      // Only `change` writes this file in the data folder.
      return JSON.parse(await readFile(this.#path(digest), "utf8")) as Sidecar;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw unavailable(digest, error);
    }
  }

  hold(digest: string): Promise<Sidecar | undefined> {
    return this.get(digest);
  }

  async change(digest: string, next: NextSidecar): Promise<void> {
    const sidecar = await next(await this.get(digest));
    if (sidecar === "removed") await this.remove(digest);
    else if (sidecar !== undefined) await writeWhole(this.#path(digest), JSON.stringify(sidecar), this.#temporary);
  }

  newFile(): undefined {
    return undefined;
  }

  async remove(digest: string): Promise<void> {
    await rm(this.#path(digest), { force: true });
  }

  #path(digest: string): string {
    return join(this.#folder, digest.slice(0, 2), `${digest.slice(2)}.json`);
  }
}
