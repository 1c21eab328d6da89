import { newId, type StoreWrite } from "@postern/core";
import type { Committed, Durability, Store } from "./store.ts";

/**
 * Commits a write whose document has a copy in memory. `take` runs once, when the followers get the write's event: a
 * follower that reads the copy must see the new state, and a slow disk may answer the commit much later. If the write
 * has no event, `take` runs when the commit is answered. If the write loses, `take` does not run.
 */
export async function commitAndTake(
  store: Pick<Store, "commit" | "follow">,
  write: StoreWrite,
  durability: Durability,
  take: () => void,
): Promise<Committed> {
  const writeId = newId("wrt");
  let isTaken = false;
  const takeOnce = (): void => {
    if (isTaken) return;
    isTaken = true;
    take();
  };
  using _ = store.follow((entries) => {
    if (entries.some((entry) => entry.writeId === writeId)) takeOnce();
  });
  const committed = await store.commit({ ...write, writeId }, durability);
  if (committed.won) takeOnce();
  return committed;
}
