import type { Clock, Principal } from "@postern/core";
import type { ArtifactMeta, ArtifactStream, ByteRange, FindNeeded, SharedArtifactStore } from "./artifact-store.ts";
import { checkDigest, checkJudge, checkNeeded, checkPut, checkPutStream, checkUse } from "./checks.ts";
import { ArtifactHolds } from "./holds.ts";
import type { Judgement } from "./judgement.ts";
import { streamOf } from "./own-artifacts.ts";
import { judged, mayRead, metaFor, type Release, releasedTo, shared, unavailable } from "./releases.ts";
import { collected, digestOf } from "./streams.ts";

export interface MemoryArtifactsOptions {
  readonly clock: Clock;
  /** How long an artifact stays at least, in milliseconds. */
  readonly retentionMs: number;
}

interface StoredArtifact {
  readonly bytes: Uint8Array;
  /** Wall clock, milliseconds: when the bytes were last put. */
  storedAt: number;
  releases: readonly Release[];
}

/** Artifacts that end with the process: for tests, and for runtimes without a data folder. */
export class MemoryArtifacts implements SharedArtifactStore {
  readonly #clock: Clock;
  readonly #retentionMs: number;
  readonly #holds: ArtifactHolds;
  readonly #all = new Map<string, StoredArtifact>();

  constructor({ clock, retentionMs }: MemoryArtifactsOptions) {
    this.#clock = clock;
    this.#retentionMs = retentionMs;
    this.#holds = new ArtifactHolds(clock);
  }

  async put(bytes: Uint8Array, mediaType: string, owner: Principal, judgement?: Judgement): Promise<ArtifactMeta> {
    checkPut(bytes, mediaType, owner);
    const own = bytes.slice();
    const digest = await digestOf(own);
    const kept = this.#all.get(digest) ?? { bytes: own, storedAt: 0, releases: [] };
    kept.storedAt = this.#clock.now();
    kept.releases = releasedTo(kept.releases, owner, { mediaType, ...(judgement && { judgement }) });
    this.#all.set(digest, kept);
    this.#holds.pin(digest);
    return { digest, mediaType, bytes: bytes.length };
  }

  async putStream(
    chunks: AsyncIterable<Uint8Array>,
    mediaType: string,
    owner: Principal,
    judgement?: Judgement,
  ): Promise<ArtifactMeta> {
    checkPutStream(chunks, mediaType, owner);
    return this.put(await collected(chunks), mediaType, owner, judgement);
  }

  async judge(digest: string, principal: Principal, judgement: Judgement): Promise<void> {
    checkJudge(digest, principal, judgement);
    const kept = this.#find(digest);
    kept.releases = judged(digest, kept.releases, { principal, judgement });
  }

  async openStream(digest: string, principal: Principal, range?: ByteRange): Promise<ArtifactStream> {
    const meta = await this.meta(digest, principal);
    return streamOf({ meta, bytes: this.#find(digest).bytes }, range);
  }

  mayUse(digest: string, principal: Principal): boolean {
    checkUse(digest, principal);
    const kept = this.#all.get(digest);
    if (kept !== undefined) this.#holds.use(digest);
    return mayRead(kept?.releases ?? [], principal);
  }

  async meta(digest: string, principal: Principal): Promise<ArtifactMeta> {
    checkUse(digest, principal);
    const { bytes, releases } = this.#find(digest);
    const meta = metaFor({ digest, bytes: bytes.length }, releases, principal);
    this.#holds.use(digest);
    return meta;
  }

  async open(
    digest: string,
    principal: Principal,
  ): Promise<{ readonly meta: ArtifactMeta; readonly bytes: Uint8Array }> {
    const meta = await this.meta(digest, principal);
    return { meta, bytes: this.#find(digest).bytes.slice() };
  }

  async pin(digest: string): Promise<void> {
    checkDigest(digest);
    this.#find(digest);
    this.#holds.pin(digest);
  }

  async unpin(digest: string): Promise<void> {
    checkDigest(digest);
    this.#holds.unpin(digest);
  }

  async release(digest: string, principal: Principal): Promise<void> {
    checkUse(digest, principal);
    const kept = this.#find(digest);
    kept.releases = shared(digest, kept.releases, principal);
  }

  async sweep(needed: FindNeeded): Promise<number> {
    checkNeeded(needed);
    const loose = [...this.#all].filter(([digest, kept]) => this.#isLoose(digest, kept)).map(([digest]) => digest);
    const stay = await needed(loose);
    let removed = 0;
    for (const digest of loose) {
      const kept = this.#all.get(digest);
      if (kept === undefined || stay.has(digest) || !this.#isLoose(digest, kept)) continue; // checked again, because time has passed
      this.#all.delete(digest);
      removed += 1;
    }
    this.#holds.forgetOld();
    return removed;
  }

  #find(digest: string): StoredArtifact {
    const kept = this.#all.get(digest);
    if (kept === undefined) throw unavailable(digest);
    return kept;
  }

  #isLoose(digest: string, { storedAt }: StoredArtifact): boolean {
    return !this.#holds.has(digest) && storedAt + this.#retentionMs <= this.#clock.now();
  }
}
