import { messageOf } from "../core/fault.ts";
import type { Session } from "../core/session.ts";
import type { ArtifactStore } from "./artifact-store.ts";

/**
 * Takes back every pin of a session that ended (SPEC 10.5). One that cannot be taken back is logged, its artifact stays;
 * the others are released all the same.
 */
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
