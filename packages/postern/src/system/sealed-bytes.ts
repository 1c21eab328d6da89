/** AES-256-GCM: without the key nothing can be read or changed, and sealed bytes open only for the same `about`. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

export const sealingKeyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

export function seal(plain: Uint8Array, about: string, key: Uint8Array): Uint8Array {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(Buffer.from(about));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Returns undefined when it was changed or cut short, has another key, or belongs to another `about`. */
export function unseal(sealed: Uint8Array, about: string, key: Uint8Array): Uint8Array | undefined {
  if (sealed.byteLength < nonceBytes + tagBytes) return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(about));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}
