import { createPublicKey, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import { makeOwnFolder } from "@postern/core/system";
import { newSigningKey, readSigningKey, signingKeyText } from "../system/signing-key.ts";
import { createWhole, readWhole } from "../system/whole-file.ts";

/** The Ed25519 key of a gateway or a worker. */
export interface WorkerKey {
  /** 32 bytes as base64url: 43 characters. */
  readonly publicKey: string;
  sign(text: string): Buffer;
}

const fix =
  "Put the key back, or remove the file: then a new key is made, and the other side must learn its public key.";

export const publicKeyPattern: RegExp = /^[A-Za-z0-9_-]{43}$/;

/**
 * The key in this data folder: `workers.key` (PKCS 8, readable by its owner only). It is made on first use.
 *
 * @throws RuntimeFault `config_invalid` for a file that holds no such key
 */
export async function loadWorkerKey(folder: string): Promise<WorkerKey> {
  makeOwnFolder(folder);
  const path = join(folder, "workers.key");
  const text = await readWhole(path);
  if (text !== undefined) return keyOf(readSigningKey(text, `\`${path}\``, fix));
  const key = newSigningKey();
  if (await createWhole(path, Buffer.from(signingKeyText(key)))) return keyOf(key);
  return loadWorkerKey(folder); // another process was first
}

/** A key that ends with its process. */
export function createWorkerKey(): WorkerKey {
  return keyOf(newSigningKey());
}

function keyOf(key: KeyObject): WorkerKey {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return { publicKey: x, sign: (text) => sign(null, Buffer.from(text), key) };
}
