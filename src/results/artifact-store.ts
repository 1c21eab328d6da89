/**
 * What goes back, when it is too big to go inline: bytes by their digest.
 *
 * Invariant: bytes are durable before a record may refer to them; a reference can be used only within its tenant and by
 * principals it was released to; what is pinned, used, young or needed by a row is never swept.
 * Next: raw-result.ts (what a tool answered), shape.ts (inline or by reference), folder-artifacts.ts (a folder as store),
 * releases.ts (who may use one, and the end of a session), sweeper.ts (removes what is not needed).
 */
import type { Principal } from "../core/call.ts";

export interface ArtifactMeta {
  /** SHA-256, 64 hex digits. */
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: number;
}

/** A part of an artifact: bytes from `start` up to and without `end`. Left out: from the beginning, to the end. */
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
 * Where results are kept that are too big to go inline.
 *
 * @public
 */
export interface ArtifactStore {
  /** Keeps the bytes for `owner` and gives their digest. Durable when it resolves. Pinned until `unpin` as often as put. */
  put(bytes: Uint8Array, mediaType: string, owner: Principal): Promise<ArtifactMeta>;
  /** As `put`, without holding more than a piece of the bytes. When the stream throws, nothing is kept and this rejects with what it threw. */
  putStream(chunks: AsyncIterable<Uint8Array>, mediaType: string, owner: Principal): Promise<ArtifactMeta>;
  /** Whether the principal may use it; asked before a person is bothered. False when it does not exist. */
  mayUse(digest: string, principal: Principal): boolean | Promise<boolean>;
  /** What it is, without its bytes. Throws as `open` does. */
  meta(digest: string, principal: Principal): Promise<ArtifactMeta>;
  /** @throws RuntimeFault `artifact_unavailable` when it is gone or not the principal's. */
  open(digest: string, principal: Principal): Promise<{ readonly meta: ArtifactMeta; readonly bytes: Uint8Array }>;
  /** As `open`, piece by piece; what is read whole is checked against its digest at its end. */
  openStream(digest: string, principal: Principal, range?: ByteRange): Promise<ArtifactStream>;
  /** Keeps it as long as this process lives, or until `unpin`. */
  pin(digest: string): Promise<void>;
  unpin(digest: string): Promise<void>;
}

/**
 * What an artifact store of one's own must have. It must refuse every principal but the owner: `owner` of `put` is
 * the one principal (tenant, agent, user) that may open it. Without `putStream` and `openStream` bytes are held whole.
 *
 * @public
 */
export type OwnArtifactStore = Pick<ArtifactStore, "put" | "open" | "pin" | "unpin"> &
  Partial<Pick<ArtifactStore, "mayUse" | "meta" | "putStream" | "openStream">>;

/** A store that is kept by ourselves, so that sharing and tidying up are ours too. */
export interface SharedArtifactStore extends ArtifactStore {
  /**
   * Lets one more principal of the same tenant use it.
   *
   * @throws RuntimeFault `artifact_unavailable` when that tenant has no such artifact.
   */
  release(digest: string, principal: Principal): Promise<void>;
  /** Removes what is older than the retention and is neither held nor needed. Returns how many. */
  sweep(needed: Needed): Promise<number>;
}

/** Which of these are needed by a row; of others it may say so too. */
export type Needed = (digests: readonly string[]) => Promise<ReadonlySet<string>>;

/** `{"$artifact": digest}`: how arguments name an artifact. */
export const referenceKey = "$artifact";
