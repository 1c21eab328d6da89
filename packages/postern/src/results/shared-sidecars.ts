import { randomBytes } from "node:crypto";
import type { Clock } from "@postern/core";
import { Collection, plainJson, type Versioned } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import { isDigest } from "./releases.ts";
import type { FileSidecars, NextSidecar, Sidecar, Sidecars } from "./sidecars.ts";

export interface SharedSidecarsOptions {
  readonly store: Pick<Store, "commit" | "documents">;
  /** Names the folder of the bytes in the store. */
  readonly folderId: string;
  /** From the time when one process used the folder. They are read until the document is written. */
  readonly earlier: FileSidecars;
  /** The time of the store. */
  readonly clock: Clock;
  /** How long a write holds an artifact, in milliseconds. */
  readonly holdMs: number;
}

/**
 * Sidecars as documents, for a folder that several processes use: a change is a compare-and-swap, so no release and no
 * judgement is lost, and a sweep loses against every process that has used the artifact meanwhile.
 *
 * Invariant: each new file of bytes has a name that no file had before. So a process that was slow to remove the file of
 * a swept artifact cannot remove bytes that were put later.
 */
export class SharedSidecars implements Sidecars {
  readonly #documents: SidecarDocuments;
  readonly #options: SharedSidecarsOptions;

  constructor(options: SharedSidecarsOptions) {
    this.#options = options;
    this.#documents = new SidecarDocuments(options);
  }

  async get(digest: string): Promise<Sidecar | undefined> {
    return isDigest(digest) ? this.#documents.get(this.#id(digest)) : undefined;
  }

  /** Writes only when less than half of the time is left. */
  async hold(digest: string): Promise<Sidecar | undefined> {
    const { clock, holdMs } = this.#options;
    const found = await this.get(digest);
    if (found === undefined || (found.heldUntil ?? 0) - clock.now() >= holdMs / 2) return found;
    const { item } = await this.#documents.change(this.#id(digest), (now) => now && { item: this.#held(now) });
    return item;
  }

  async change(digest: string, next: NextSidecar): Promise<void> {
    const { changed, item } = await this.#documents.change(this.#id(digest), async (found) => {
      const sidecar = await next(found);
      if (sidecar === "removed") return { item: undefined };
      return sidecar && { item: this.#held(sidecar) };
    });
    if (changed && item === undefined) await this.#options.earlier.remove(digest);
  }

  newFile(digest: string): string {
    return `${digest.slice(2)}.${randomBytes(8).toString("hex")}`;
  }

  #held(sidecar: Sidecar): Sidecar {
    const { clock, holdMs } = this.#options;
    return { ...sidecar, heldUntil: Math.max(sidecar.heldUntil ?? 0, clock.now() + holdMs) };
  }

  #id(digest: string): string {
    return `${this.#options.folderId}/${digest}`;
  }
}

class SidecarDocuments extends Collection<Sidecar | undefined> {
  readonly #earlier: FileSidecars;

  constructor({ store, earlier }: SharedSidecarsOptions) {
    super({
      store,
      kind: "artifact",
      read: (body) => body as unknown as Sidecar, // only this class writes it
      write: (sidecar) => (sidecar === undefined ? null : plainJson(sidecar)),
    });
    this.#earlier = earlier;
  }

  protected override async load(id: string): Promise<Versioned<Sidecar | undefined>> {
    const found = await super.load(id);
    if (found.version > 0) return found;
    return { version: 0, item: await this.#earlier.get(id.slice(id.indexOf("/") + 1)) };
  }
}
