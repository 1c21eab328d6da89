import { type Principal, RuntimeFault } from "@postern/core";
import type { ArtifactMeta, ArtifactStore, ArtifactStream, ByteRange, OwnArtifactStore } from "./artifact-store.ts";
import type { Judgement } from "./judgement.ts";
import { checkReadable, type Release, releasedTo, releaseTo, unavailable } from "./releases.ts";
import { collected, piecesOf } from "./streams.ts";

/** An artifact store of the application, completed by the methods that it leaves out. */
export function completeStore(own: OwnArtifactStore): ArtifactStore {
  const judgements = new Judgements(own);
  const open: ArtifactStore["open"] = async (digest, principal) => {
    const opened = await orUnavailable(digest, () => own.open(digest, principal));
    return { ...opened, meta: judgements.in(opened.meta, principal) };
  };
  const meta: ArtifactStore["meta"] = async (digest, principal) => {
    const asked = async () => own.meta?.(digest, principal) ?? (await own.open(digest, principal)).meta;
    return judgements.in(await orUnavailable(digest, asked), principal);
  };
  return {
    open,
    meta,
    put: async (bytes, mediaType, owner, judgement) =>
      judgements.kept(await own.put(bytes, mediaType, owner), owner, judgement),
    pin: async (digest) => own.pin(digest),
    unpin: async (digest) => own.unpin(digest),
    judge: (digest, principal, judgement) => judgements.add(digest, principal, judgement),
    mayUse: async (digest, principal) =>
      judgements.mayRead(digest, principal) &&
      (await (own.mayUse?.(digest, principal) ?? isThere(own, digest, principal))),
    putStream: async (chunks, mediaType, owner, judgement) => {
      const made = own.putStream?.(chunks, mediaType, owner) ?? own.put(await collected(chunks), mediaType, owner);
      return judgements.kept(await made, owner, judgement);
    },
    openStream: async (digest, principal, range) => {
      if (own.openStream === undefined) return streamOf(await open(digest, principal), range);
      const stream = await own.openStream(digest, principal, range);
      return { ...stream, meta: judgements.in(stream.meta, principal) };
    },
  };
}

const mostJudgements = 100_000;

/** The judgements of a store that cannot keep them. They end with the process; the oldest are dropped. */
class Judgements {
  readonly #own: OwnArtifactStore;
  readonly #releases = new Map<string, readonly Release[]>();

  constructor(own: OwnArtifactStore) {
    this.#own = own;
  }

  async add(digest: string, principal: Principal, judgement: Judgement): Promise<void> {
    if (this.#own.judge !== undefined) return this.#own.judge(digest, principal, judgement);
    const before = this.#releases.get(digest) ?? [];
    this.#releases.delete(digest);
    this.#releases.set(digest, releasedTo(before, principal, { mediaType: "", judgement }));
    for (const oldest of this.#releases.keys()) {
      if (this.#releases.size <= mostJudgements) return;
      this.#releases.delete(oldest);
    }
  }

  async kept(meta: ArtifactMeta, owner: Principal, judgement: Judgement | undefined): Promise<ArtifactMeta> {
    if (judgement !== undefined) await this.add(meta.digest, owner, judgement);
    return meta;
  }

  mayRead(digest: string, principal: Principal): boolean {
    return this.#of(digest, principal)?.withheld === undefined;
  }

  /** @throws RuntimeFault `artifact_unavailable` if guardrails withhold it */
  in(meta: ArtifactMeta, principal: Principal): ArtifactMeta {
    const judgement = meta.judgement ?? this.#of(meta.digest, principal);
    checkReadable(meta.digest, judgement);
    return judgement === undefined ? meta : { ...meta, judgement };
  }

  #of(digest: string, principal: Principal): Judgement | undefined {
    return releaseTo(this.#releases.get(digest) ?? [], principal)?.judgement;
  }
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
  judge: missing,
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
