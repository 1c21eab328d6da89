/** The key of the sealed documents of a store, made from the sealing key of the installation. */
import { hkdfSync, randomBytes } from "node:crypto";
import { isJsonObject, type Json, RuntimeFault, SystemClock } from "@postern/core";
import { Collection } from "../store/collection.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { SealedStore } from "../store/sealed-documents.ts";
import { sealingKeyBytes } from "../system/sealed-bytes.ts";
import { passphraseKey } from "./passphrase.ts";
import { type KeySource, keyVariable, readOrMakeSealingKey, readSealingKey, type SealingKey } from "./sealing-key.ts";

/** What the store says about the key: what the documents' key is made with, and a text that only the same key makes. */
interface NamedKey {
  readonly salt: string;
  readonly check: string;
}

interface DerivedKeys {
  readonly key: Uint8Array;
  readonly check: string;
}

const id = "documents";

/**
 * Processes on one store need one sealing key. The first to start names it in the store.
 *
 * @param learn gets the sealing key, for the redactor
 * @param source undefined: the documents end with the process, as they do if the store is in memory
 * @throws RuntimeFault `secrets_key_invalid` for another key than the store's, and what reading a key throws
 */
export async function openSealedStore(
  store: SealedStore["store"],
  source: KeySource | undefined,
  learn: (key: string) => void,
): Promise<SealedStore> {
  if (source === undefined || store instanceof MemoryStore)
    return { store: privateStore(), key: randomBytes(sealingKeyBytes) };
  const names = new Collection({ store, kind: "sealing_key", read: namedKeyIn });
  const found = await readSealingKey(source);
  const known = await names.get(id);
  if (found === undefined && known !== undefined) throw missingKey(source);
  const sealing = found ?? (await readOrMakeSealingKey(source));
  learn(sealing.text);
  const salt = known?.salt ?? randomBytes(sealingKeyBytes).toString("base64");
  const keys = await keysFrom(sealing, salt);
  if (known !== undefined) return opened(store, keys, known, sealing);
  const first: NamedKey = { salt, check: keys.check };
  const { item: named = first } = await names.change(id, (other) =>
    other === undefined ? { item: first, durability: "synced" } : undefined,
  );
  return opened(store, named.salt === salt ? keys : await keysFrom(sealing, named.salt), named, sealing);
}

function opened(
  store: SealedStore["store"],
  { key, check }: DerivedKeys,
  named: NamedKey,
  { from }: SealingKey,
): SealedStore {
  if (check === named.check) return { store, key };
  throw new RuntimeFault(
    "secrets_key_invalid",
    `The sign-ins in this store are sealed with another key than the one in ${from}. Give this Postern the sealing key of the one that started first on the store (\`secrets.key\` of its data folder, or \`${keyVariable}\`); nothing was changed.`,
  );
}

function missingKey({ keyFile }: KeySource): RuntimeFault {
  return new RuntimeFault(
    "secrets_key_invalid",
    `The sign-ins in this store are sealed, and their key is not there. Put the sealing key of the Postern that started first on the store into \`${keyFile}\` (mode 0600), or into \`${keyVariable}\`.`,
  );
}

async function keysFrom({ kind, text }: SealingKey, salt: string): Promise<DerivedKeys> {
  const bytes = Buffer.from(salt, "base64");
  const secret = kind === "identity" ? Buffer.from(text) : await passphraseKey(text, bytes);
  const made = (what: string): Buffer =>
    Buffer.from(hkdfSync("sha256", secret, bytes, `postern sealed documents: ${what}`, sealingKeyBytes));
  return { key: made("key"), check: made("check").toString("hex") };
}

function namedKeyIn(body: Json): NamedKey {
  const { salt, check } = isJsonObject(body) ? body : {};
  if (typeof salt === "string" && typeof check === "string") return { salt, check };
  throw new RuntimeFault(
    "store_unreadable",
    "The store does not say as Postern writes it which key its sign-ins are sealed with. Put a copy of the store back.",
  );
}

/** It has no events. */
function privateStore(): MemoryStore {
  return new MemoryStore({ clock: new SystemClock(), serialize: String });
}
