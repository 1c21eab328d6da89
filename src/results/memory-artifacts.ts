import { hash } from "node:crypto";
import type { ArtifactShelf } from "./artifact-store.ts";
import { type Release, releasedTo, releaseTo, shared, unavailable } from "./releases.ts";

interface Kept {
  readonly bytes: Uint8Array;
  pins: number;
  releases: readonly Release[];
}

/** Artifacts that end with the process: for tests, and for runtimes without a data folder. */
export function memoryArtifacts(): ArtifactShelf {
  const all = new Map<string, Kept>();
  const find = (digest: string): Kept => {
    const kept = all.get(digest);
    if (kept === undefined) throw unavailable(digest);
    return kept;
  };
  return {
    async put(bytes, mediaType, owner) {
      const digest = hash("sha256", bytes, "hex");
      const kept = all.get(digest) ?? { bytes: Uint8Array.from(bytes), pins: 0, releases: [] };
      kept.pins += 1;
      kept.releases = releasedTo(kept.releases, owner, mediaType);
      all.set(digest, kept);
      return { digest, mediaType, bytes: bytes.length };
    },
    mayUse: (digest, principal) => releaseTo(all.get(digest)?.releases ?? [], principal) !== undefined,
    async open(digest, principal) {
      const { bytes, releases } = find(digest);
      const release = releaseTo(releases, principal);
      if (release === undefined) throw unavailable(digest);
      const meta = { digest, mediaType: release.mediaType, bytes: bytes.length };
      return { meta, bytes: Uint8Array.from(bytes) };
    },
    async pin(digest) {
      find(digest).pins += 1;
    },
    async unpin(digest) {
      const kept = all.get(digest);
      if (kept !== undefined) kept.pins = Math.max(0, kept.pins - 1);
    },
    async release(digest, principal) {
      const kept = find(digest);
      kept.releases = shared(digest, kept.releases, principal);
    },
    async sweep() {
      const loose = [...all].filter(([, { pins }]) => pins === 0);
      for (const [digest] of loose) all.delete(digest);
      return loose.length;
    },
  };
}
