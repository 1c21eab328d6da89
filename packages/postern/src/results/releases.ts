import { defined, messageOf, type Principal, RuntimeFault } from "@postern/core";
import type { Session } from "../call/session.ts";
import type { ArtifactMeta, ArtifactStore } from "./artifact-store.ts";
import { type Judgement, stricter } from "./judgement.ts";

/** Who may use an artifact, and under which media type. Equal bytes are stored once, but a tenant does not learn the media type of another. */
export interface Release {
  readonly tenant: string;
  readonly agent: string;
  readonly user?: string;
  readonly mediaType: string;
  readonly judgement?: Judgement;
}

/** Only a digest becomes part of a path. */
export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

export function releaseTo(releases: readonly Release[], principal: Principal): Release | undefined {
  return releases.find((release) => isFor(release, principal));
}

/** If a principal puts the same bytes again, the newest media type counts. */
export function releasedTo(
  releases: readonly Release[],
  principal: Principal,
  { mediaType, judgement }: Pick<Release, "mediaType" | "judgement">,
): readonly Release[] {
  const { tenant, agent, user } = principal;
  const before = releaseTo(releases, principal)?.judgement;
  const known = before === undefined && judgement === undefined ? {} : { judgement: stricter(before, judgement) };
  const release: Release = { tenant, agent, ...(user === undefined ? {} : { user }), mediaType, ...known };
  return [...releases.filter((other) => !isFor(other, principal)), release];
}

/** @throws RuntimeFault `artifact_unavailable` if it was not released to the principal */
export function judged(
  digest: string,
  releases: readonly Release[],
  { principal, judgement }: { readonly principal: Principal; readonly judgement: Judgement },
): readonly Release[] {
  const release = releaseTo(releases, principal);
  if (release === undefined) throw unavailable(digest);
  return releasedTo(releases, principal, { ...release, judgement });
}

/**
 * What the principal may know of an artifact that it may read.
 *
 * @throws RuntimeFault `artifact_unavailable` if it is not released to it, or withheld
 */
export function metaFor(
  { digest, bytes }: Pick<ArtifactMeta, "digest" | "bytes">,
  releases: readonly Release[],
  principal: Principal,
): ArtifactMeta {
  const release = releaseTo(releases, principal);
  if (release === undefined) throw unavailable(digest);
  const { mediaType, judgement } = release;
  checkReadable(digest, judgement);
  return { digest, mediaType, bytes, ...defined({ judgement }) };
}

/** @throws RuntimeFault `artifact_unavailable` if guardrails withhold it */
export function checkReadable(digest: string, { withheld }: Judgement = {}): void {
  if (withheld === undefined) return;
  throw new RuntimeFault("artifact_unavailable", `The artifact \`${digest}\` is withheld by ${withheld}.`);
}

export function mayRead(releases: readonly Release[], principal: Principal): boolean {
  const release = releaseTo(releases, principal);
  return release !== undefined && release.judgement?.withheld === undefined;
}

/** Releases it to one more principal of a tenant that has it already, with the media type it has there. */
export function shared(digest: string, releases: readonly Release[], principal: Principal): readonly Release[] {
  if (releaseTo(releases, principal) !== undefined) return releases;
  const own = releases.find(({ tenant }) => tenant === principal.tenant);
  if (own === undefined) throw unavailable(digest);
  return releasedTo(releases, principal, own);
}

/** The same message for a missing artifact and for one of another caller, so that the answer does not show which. */
export function unavailable(digest: string, cause?: unknown): RuntimeFault {
  const message = `The artifact \`${digest.slice(0, 64)}\` does not exist or is not yours; store the bytes again.`;
  return new RuntimeFault("artifact_unavailable", message, cause === undefined ? undefined : { cause });
}

function isFor(release: Release, { tenant, agent, user }: Principal): boolean {
  return release.tenant === tenant && release.agent === agent && release.user === user;
}

/** Removes every pin of a session that ended. A pin that cannot be removed is logged and its artifact stays; the others are removed. */
export async function releasePins(
  session: Session,
  artifacts: Pick<ArtifactStore, "unpin">,
  log: (problem: string) => void,
): Promise<void> {
  await Promise.all(
    session.takePins().map(async (digest) => {
      try {
        await artifacts.unpin(digest);
      } catch (error) {
        log(`The artifact \`${digest}\` stays pinned after its session ended: ${messageOf(error)}.`);
      }
    }),
  );
}
