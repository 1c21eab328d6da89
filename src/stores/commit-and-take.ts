import type { Write } from "../calls/records.ts";
import type { Committed, Durability, Store } from "./store.ts";

/**
 * For who keeps a copy of what it writes: `take` runs when the followers are told that it is true, which may be long
 * before a slow disk has it. Whoever is told asks at once, and is not to find what was before. Not taken when it is lost.
 */
export async function commitAndTake(
  store: Pick<Store, "commit" | "follow">,
  write: Write,
  durability: Durability,
  take: () => void,
): Promise<Committed> {
  const { event } = write;
  let isTaken = false;
  const taken = (): void => {
    if (isTaken) return;
    take();
    isTaken = true;
  };
  using _ = store.follow((entries) => {
    if (event !== undefined && entries.some((entry) => entry.event === event)) taken();
  });
  const committed = await store.commit(write, durability);
  if (committed.won) taken();
  return committed;
}
