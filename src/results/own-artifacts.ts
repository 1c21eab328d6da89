import type { Principal } from "../core/call.ts";
import { RuntimeFault } from "../core/fault.ts";
import type { ArtifactMeta, ArtifactStore, ArtifactStream, ByteRange, OwnArtifactStore } from "./artifact-store.ts";
import { unavailable } from "./releases.ts";
import { collected, piecesOf } from "./streams.ts";

/** An artifact store of the application, completed by the methods that it leaves out. */
export function completeStore(own: OwnArtifactStore): ArtifactStore {
  const open: ArtifactStore["open"] = async (digest, principal) =>
    orUnavailable(digest, () => own.open(digest, principal));
  return {
    open,
    put: async (bytes, mediaType, owner) => own.put(bytes, mediaType, owner),
    pin: async (digest) => own.pin(digest),
    unpin: async (digest) => own.unpin(digest),
    mayUse: (digest, principal) => own.mayUse?.(digest, principal) ?? isThere(own, digest, principal),
    meta: async (digest, principal) =>
      orUnavailable(digest, async () => own.meta?.(digest, principal) ?? (await own.open(digest, principal)).meta),
    putStream: async (chunks, mediaType, owner) =>
      own.putStream?.(chunks, mediaType, owner) ?? own.put(await collected(chunks), mediaType, owner),
    openStream: async (digest, principal, range) =>
      own.openStream?.(digest, principal, range) ?? streamOf(await open(digest, principal), range),
  };
}

/** Turns every failure to read an artifact into the same fault. */
async function orUnavailable<Answer>(digest: string, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    throw unavailable(digest, error);
  }
}

async function isThere(own: OwnArtifactStore, digest: string, principal: Principal): Promise<boolean> {
  try {
    await own.open(digest, principal);
    return true;
  } catch {
    return false; // a missing and a foreign artifact get the same answer
  }
}

/** @param opened the whole artifact */
export function streamOf(
  { meta, bytes }: { readonly meta: ArtifactMeta; readonly bytes: Uint8Array },
  { start, end }: ByteRange = {},
): ArtifactStream {
  return { meta, chunks: piecesOf(bytes.subarray(start ?? 0, end)) };
}

/** Without a store, results stay inline whatever their size, and arguments cannot refer to any. */
export const noArtifacts: ArtifactStore = {
  put: refuse,
  putStream: refuse,
  mayUse: () => false,
  meta: missing,
  open: missing,
  openStream: missing,
  pin: missing,
  unpin: async () => undefined,
};

async function refuse(): Promise<never> {
  throw new RuntimeFault("artifacts_off", "This runtime has no artifact store (`artifacts: false`).");
}

async function missing(digest: string): Promise<never> {
  throw unavailable(digest);
}
