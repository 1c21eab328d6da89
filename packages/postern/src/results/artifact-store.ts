/**
 * Stores results that are too big to go inline: bytes by their digest.
 * Invariant: bytes are durable before a record may refer to them; a reference can be used only within its tenant and by
 * principals it was released to, and by none if guardrails withhold it; what is pinned, used, young or needed by a row is never swept.
 * Next: raw-result.ts (a tool's answer), shape.ts (inline or by reference), folder-artifacts.ts (a folder as store),
 * releases.ts (who may use one, and the end of a session), judgement.ts (its origin, and what guardrails found), sweeper.ts (removes what is not needed).
 */
import type { Principal } from "@postern/core";
import type { Judgement } from "./judgement.ts";

export interface ArtifactMeta {
  /** SHA-256, 64 hex digits. */
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** Where the bytes come from and what guardrails found in them, for the principal that asks. */
  readonly judgement?: Judgement;
}

/** A part of an artifact: bytes from `start` up to, not including, `end`. By default from the beginning to the end. */
export interface ByteRange {
  readonly start?: number;
  readonly end?: number;
}

/** An artifact that is read piece by piece. Reading throws RuntimeFault `artifact_unavailable` when the bytes are damaged. */
export interface ArtifactStream {
  readonly meta: ArtifactMeta;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Stores results that are too big to go inline.
 *
 * @public
 */
export interface ArtifactStore {
  /** Stores the bytes for `owner` and returns their digest. Durable when it resolves. Each `put` pins once; `unpin` undoes one pin. */
  put(bytes: Uint8Array, mediaType: string, owner: Principal, judgement?: Judgement): Promise<ArtifactMeta>;
  /** As `put`, but holds only a piece of the bytes in memory. When the stream throws, nothing is stored and this rejects with that error. */
  putStream(
    chunks: AsyncIterable<Uint8Array>,
    mediaType: string,
    owner: Principal,
    judgement?: Judgement,
  ): Promise<ArtifactMeta>;
  /** Adds to what is known of the bytes for this principal: the stricter counts, and withheld bytes cannot be used any more. */
  judge(digest: string, principal: Principal, judgement: Judgement): Promise<void>;
  /** Whether the principal may use it. Asked before a person is asked to approve. Returns false when it does not exist. */
  mayUse(digest: string, principal: Principal): boolean | Promise<boolean>;
  /** Its media type and size, without its bytes. Throws as `open` does. */
  meta(digest: string, principal: Principal): Promise<ArtifactMeta>;
  /** @throws RuntimeFault `artifact_unavailable` when it does not exist or the principal may not use it. */
  open(digest: string, principal: Principal): Promise<{ readonly meta: ArtifactMeta; readonly bytes: Uint8Array }>;
  /** As `open`, piece by piece. A stream that is read to its end is checked against the digest. */
  openStream(digest: string, principal: Principal, range?: ByteRange): Promise<ArtifactStream>;
  /** Keeps it while this process lives, or until `unpin`. */
  pin(digest: string): Promise<void>;
  unpin(digest: string): Promise<void>;
}

/**
 * The methods that an artifact store of your own must have. It must refuse every principal but the owner: `owner` of
 * `put` is the one principal (tenant, agent, user) that may open it. Without `putStream` and `openStream`, whole
 * artifacts are held in memory. Without `judge`, judgements end with the process.
 *
 * @public
 */
export type OwnArtifactStore = Pick<ArtifactStore, "put" | "open" | "pin" | "unpin"> &
  Partial<Pick<ArtifactStore, "mayUse" | "meta" | "putStream" | "openStream" | "judge">>;

/** A store of Postern, which can also share artifacts and remove unneeded ones. */
export interface SharedArtifactStore extends ArtifactStore {
  /** Bytes of all artifacts. Undefined until they were counted, and in a store that does not count them. */
  readonly totalBytes?: number | undefined;
  /**
   * Lets one more principal of the same tenant use it.
   *
   * @throws RuntimeFault `artifact_unavailable` when the tenant has no such artifact.
   */
  release(digest: string, principal: Principal): Promise<void>;
  /** Removes artifacts that are older than the retention and neither pinned nor needed. Returns how many. */
  sweep(needed: FindNeeded): Promise<number>;
}

/** Returns those digests that a row needs. It may return more. */
export type FindNeeded = (digests: readonly string[]) => Promise<ReadonlySet<string>>;
