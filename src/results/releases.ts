import type { Principal } from "../core/call.ts";
import { messageOf, RuntimeFault } from "../core/fault.ts";
import type { Session } from "../core/session.ts";
import type { ArtifactStore } from "./artifact-store.ts";

/** Who may use an artifact, and under which media type. Equal bytes are stored once, but a tenant does not learn the media type of another. */
export interface Release {
  readonly tenant: string;
  readonly agent: string;
  readonly user?: string;
  readonly mediaType: string;
}

/** Only a digest becomes part of a path. */
export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

export function releaseTo(releases: readonly Release[], principal: Principal): Release | undefined {
  return releases.find((release) => isFor(release, principal));
}

/** If a principal puts the same bytes again, the newest media type counts. */
export function releasedTo(releases: readonly Release[], principal: Principal, mediaType: string): readonly Release[] {
  const { tenant, agent, user } = principal;
  const release: Release = { tenant, agent, ...(user === undefined ? {} : { user }), mediaType };
  return [...releases.filter((other) => !isFor(other, principal)), release];
}

/** Releases it to one more principal of a tenant that has it already, with the media type it has there. */
export function shared(digest: string, releases: readonly Release[], principal: Principal): readonly Release[] {
  if (releaseTo(releases, principal) !== undefined) return releases;
  const own = releases.find(({ tenant }) => tenant === principal.tenant);
  if (own === undefined) throw unavailable(digest);
  return releasedTo(releases, principal, own.mediaType);
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
