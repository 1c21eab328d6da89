/**
 * Documents whose body is sealed: who reads the store without the key sees only their ids.
 *
 * Invariant: a body opens only in the document that it was written for.
 * Next: secrets/sealing-of-store.ts (the key), system/sealed-bytes.ts (the cipher).
 */
import type { Json } from "@postern/core";
import { seal, unseal } from "../system/sealed-bytes.ts";
import type { CollectionOptions } from "./collection.ts";
import type { Store } from "./store.ts";

/** A store, and the key of its sealed documents. */
export interface SealedStore {
  readonly store: Pick<Store, "clock" | "commit" | "documents" | "follow" | "leases">;
  readonly key: Uint8Array;
}

export interface SealedDocumentsOptions<Item> {
  readonly kind: string;
  /** Sees each item that is read or written, before anything else does. */
  readonly seen?: (item: Item) => void;
  readonly log: (problem: string) => void;
}

/** What a collection of sealed documents is opened with. An item of undefined is a document that was removed. */
export function sealedDocuments<Item>(
  { store, key }: SealedStore,
  { kind, seen, log }: SealedDocumentsOptions<Item>,
): CollectionOptions<Item | undefined> & Pick<SealedStore, "store"> {
  const about = (id: string): string => JSON.stringify([kind, id]);
  return {
    store,
    kind,
    read: (body, id) => {
      const text = typeof body === "string" ? unseal(Buffer.from(body, "base64"), about(id), key) : undefined;
      if (text === undefined) {
        log(`The ${kind} \`${id}\` in the store was changed, or moved from another place. It is not used.`);
        return undefined;
      }
      const item = JSON.parse(Buffer.from(text).toString()) as Item; // only `write` seals with this key
      seen?.(item);
      return item;
    },
    write: (item, id): Json => {
      if (item === undefined) return null;
      seen?.(item);
      return Buffer.from(seal(Buffer.from(JSON.stringify(item)), about(id), key)).toString("base64");
    },
  };
}
