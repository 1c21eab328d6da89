import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { ImageKey } from "./image-key.ts";

const nonceBytes = 12;
const tagBytes = 16;

/** Sealed (AES-256-GCM): nobody without the key reads or changes it, and it belongs to `about` alone. */
export function seal(plain: Uint8Array, about: string, key: ImageKey): Uint8Array {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce);
  cipher.setAAD(Buffer.from(about));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined: it was changed, cut short, sealed with another key, or belongs to something else. */
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
    return undefined; // the caller says which of them it looks like
  }
}
