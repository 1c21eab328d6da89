import type { Clock } from "../calls/clock.ts";
import type { ArtifactShelf } from "./artifact-store.ts";
import { Holds } from "./holds.ts";
import { digestInTurns } from "./in-turns.ts";
import { type Release, releasedTo, releaseTo, shared, unavailable } from "./releases.ts";

export interface MemoryArtifactsOptions {
  readonly clock: Clock;
  /** How long after it was put an artifact stays in any case, in milliseconds. */
  readonly retentionMs: number;
}

interface Kept {
  readonly bytes: Uint8Array;
  /** Wall clock, milliseconds: when the bytes came last. */
  storedAt: number;
  releases: readonly Release[];
}

/** Artifacts that end with the process: for tests, and for runtimes without a data folder. */
export function memoryArtifacts({ clock, retentionMs }: MemoryArtifactsOptions): ArtifactShelf {
  const all = new Map<string, Kept>();
  const holds = new Holds(clock);
  const find = (digest: string): Kept => {
    const kept = all.get(digest);
    if (kept === undefined) throw unavailable(digest);
    return kept;
  };
  const isLoose = (digest: string, { storedAt }: Kept): boolean =>
    !holds.has(digest) && storedAt + retentionMs <= clock.now();
  return {
    async put(bytes, mediaType, owner) {
      const own = bytes.slice();
      const digest = await digestInTurns(own);
      const kept = all.get(digest) ?? { bytes: own, storedAt: 0, releases: [] };
      kept.storedAt = clock.now();
      kept.releases = releasedTo(kept.releases, owner, mediaType);
      all.set(digest, kept);
      holds.pin(digest);
      return { digest, mediaType, bytes: bytes.length };
    },
    mayUse(digest, principal) {
      const kept = all.get(digest);
      if (kept !== undefined) holds.use(digest);
      return releaseTo(kept?.releases ?? [], principal) !== undefined;
    },
    async open(digest, principal) {
      const { bytes, releases } = find(digest);
      const release = releaseTo(releases, principal);
      if (release === undefined) throw unavailable(digest);
      holds.use(digest);
      const meta = { digest, mediaType: release.mediaType, bytes: bytes.length };
      return { meta, bytes: Uint8Array.from(bytes) };
    },
    async pin(digest) {
      find(digest);
      holds.pin(digest);
    },
    async unpin(digest) {
      holds.unpin(digest);
    },
    async release(digest, principal) {
      const kept = find(digest);
      kept.releases = shared(digest, kept.releases, principal);
    },
    async sweep(needed) {
      const loose = [...all].filter(([digest, kept]) => isLoose(digest, kept)).map(([digest]) => digest);
      const stay = await needed(loose);
      let removed = 0;
      for (const digest of loose) {
        const kept = all.get(digest);
        if (kept === undefined || stay.has(digest) || !isLoose(digest, kept)) continue; // looked at again: time has passed
        all.delete(digest);
        removed += 1;
      }
      holds.forgetOld();
      return removed;
    },
  };
}
