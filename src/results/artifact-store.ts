/**
 * What goes back, when it is too big to go inline: bytes by their digest.
 *
 * Invariant: bytes are durable before a record may refer to them; a reference can be used only within its tenant and by
 * principals it was released to; what is pinned, used, young or needed by a row is never swept (D10).
 * Next: raw-result.ts (what a tool answered), shape.ts (inline or by reference), folder-artifacts.ts (a folder as store),
 * release-pins.ts (the end of a session), sweeper.ts (what nobody needs goes).
 */
import type { Principal } from "../calls/call.ts";

export interface ArtifactMeta {
  /** SHA-256, 64 hex digits. */
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: number;
}

export interface ArtifactStore {
  /** Keeps the bytes for `owner` and gives their digest. Durable when it resolves. Pinned until `unpin` as often as put. */
  put(bytes: Uint8Array, mediaType: string, owner: Principal): Promise<ArtifactMeta>;
  /** Whether the principal may use it; asked before a person is bothered. False when it does not exist. */
  mayUse(digest: string, principal: Principal): boolean | Promise<boolean>;
  /** What it is, without its bytes. Throws as `open` does. */
  meta(digest: string, principal: Principal): Promise<ArtifactMeta>;
  /** @throws RuntimeFault `artifact_unavailable` when it is gone or not the principal's. */
  open(digest: string, principal: Principal): Promise<{ readonly meta: ArtifactMeta; readonly bytes: Uint8Array }>;
  /** Keeps it as long as this process lives, or until `unpin`. */
  pin(digest: string): Promise<void>;
  unpin(digest: string): Promise<void>;
}

/** A store that is kept by ourselves, so that sharing and tidying up are ours too. */
export interface ArtifactShelf extends ArtifactStore {
  /**
   * Lets one more principal of the same tenant use it (D10).
   *
   * @throws RuntimeFault `artifact_unavailable` when that tenant has no such artifact.
   */
  release(digest: string, principal: Principal): Promise<void>;
  /** Removes what is older than the retention and which nothing holds and nobody needs; answers how many that were. */
  sweep(needed: Needed): Promise<number>;
}

/** Which of these are needed by a row; of others it may say so too. */
export type Needed = (digests: readonly string[]) => Promise<ReadonlySet<string>>;

/** `{"$artifact": digest}`: how arguments name an artifact (SPEC 7 step 9, D13). */
export const referenceKey = "$artifact";
