import { rm } from "node:fs/promises";
import { openSealed, type SealedPlace } from "../secrets/sealed-file.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { type SealedStore, sealedDocuments } from "../store/sealed-documents.ts";
import type { StoredConnection } from "./connection-repository.ts";

/** An entry of the file: a connection without its server, which is in the entry's name, or a client. */
type OlderEntry =
  | { readonly kind: "connection"; readonly connection: Omit<StoredConnection, "server"> }
  | { readonly kind: "client"; readonly client: object };

/**
 * Puts what an older Postern kept in a sealed file into the store, then removes the file. A document that is or was in the
 * store counts more: it is newer, or was revoked. If the process ends between the two, the next start goes on.
 *
 * @param open is asked after the file was opened, so that a wrong key is not named in the store
 * @throws RuntimeFault when the file exists and cannot be opened
 */
export async function moveOlderFile(
  place: SealedPlace,
  open: () => Promise<SealedStore>,
  log: (problem: string) => void,
): Promise<void> {
  const opened = await openSealed(place);
  if (opened === undefined) return;
  const sealed = await open();
  if (sealed.store instanceof MemoryStore) {
    log(`The connections in \`${place.file}\` are not used: this store is in memory. Give Postern a store that lasts.`);
    return;
  }
  for (const [name, text] of opened.entries) {
    const [server = ""] = name.split("/");
    const entry = JSON.parse(text) as OlderEntry; // only Postern had the key
    if (entry.kind === "connection") await put("connection", name, { server, ...entry.connection });
    else await put("connection_client", name, entry.client);
  }
  await rm(place.file);
  await rm(`${place.file}.lock`, { force: true });

  async function put(kind: string, id: string, item: object): Promise<void> {
    const { write } = sealedDocuments<object>(sealed, { kind, log });
    const body = write?.(item, id) ?? null;
    await sealed.store.commit({ write: "document", kind, id, body, expectedVersion: 0 }, "synced");
  }
}
