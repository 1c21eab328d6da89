/** The key of frozen scripts, and the encryption with it. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { RuntimeFault } from "@postern/core";
import { type KeyFile, readOrMakeKeyFile } from "../system/key-file.ts";

/** The key that frozen scripts are sealed with. */
export interface ImageKey {
  readonly bytes: Uint8Array;
  /** Names the key and does not reveal it. */
  readonly id: string;
}

const keyBytes = 32;

/**
 * Reads the key of the installation: `chains.key` in its folder, readable by its owner only, made on first use. Without a
 * folder the key ends with the process, as the store that holds the images does.
 *
 * @throws RuntimeFault `config_invalid`. The key is never replaced silently, because every frozen script would be lost
 */
export async function imageKey(folder: string | undefined): Promise<ImageKey> {
  if (folder === undefined) return keyOf(randomBytes(keyBytes));
  return readOrMakeKeyFile(keyFileIn(folder), () => `${randomBytes(keyBytes).toString("base64")}\n`);
}

function keyFileIn(folder: string): KeyFile<ImageKey> {
  const path = join(folder, "chains.key");
  const invalid = (why: string, cause?: unknown): RuntimeFault =>
    new RuntimeFault("config_invalid", `The key of frozen scripts, \`${path}\`, ${why}.`, { cause });
  return {
    ...{ path, mostBytes: 1000, invalid },
    exposed: () => invalid("can be read by others; `chmod 0600` it"),
    parse: (text) => {
      const bytes = Buffer.from(text.trim(), "base64");
      if (bytes.byteLength === keyBytes) return keyOf(bytes);
      throw invalid("does not hold a key of 32 bytes; put the right one back");
    },
  };
}

function keyOf(bytes: Uint8Array): ImageKey {
  return { bytes, id: createHash("sha256").update("postern chain key\n").update(bytes).digest("hex").slice(0, 16) };
}

const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts with AES-256-GCM: without the key nothing can be read or changed, and it opens only for the same `about`. */
export function seal(plain: Uint8Array, about: string, key: ImageKey): Uint8Array {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce);
  cipher.setAAD(Buffer.from(about));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Returns undefined when it was changed or cut short, has another key, or belongs to another `about`. */
export function unseal(sealed: Uint8Array, about: string, key: ImageKey): Uint8Array | undefined {
  if (sealed.byteLength < nonceBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key.bytes, sealed.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(about));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}
