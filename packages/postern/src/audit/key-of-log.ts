import { Collection, type CollectionOptions } from "../store/collection.ts";
import type { Signer } from "./signer.ts";

/**
 * Processes on one store sign one log, so they need one key. The first to start names it in the store.
 *
 * @returns the origin of the named key if it is not this one
 */
export async function otherKeyNamed(
  store: CollectionOptions<string>["store"],
  { origin }: Pick<Signer, "origin">,
): Promise<string | undefined> {
  const keys = new Collection({ store, kind: "audit_key", read: String });
  const { item: named } = await keys.change("log", (before) =>
    before === undefined ? { item: origin, durability: "synced" } : undefined,
  );
  return named === origin ? undefined : named;
}
