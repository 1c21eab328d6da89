import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";

/**
 * For while a body comes, which may be slow: nobody acts with what changed or ended before the last of it was there. Asked
 * once; then it is not watched any more.
 */
export function endedMeanwhile(by: Who | undefined): () => Response | undefined {
  let ended = false;
  const leave = by?.whenEnded?.(() => {
    ended = true;
  });
  return () => {
    leave?.();
    if (!ended) return undefined;
    return problem("session_ended", "What you signed in with changed or ended meanwhile; sign in again.");
  };
}
