/**
 * age's passphrase recipient (C2SP age, "scrypt") with Node's own scrypt. The library's is synchronous and would block
 * the event loop, and so every call, for more than a second each time the file is read.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import type { Identity, Recipient, Stanza } from "age-encryption";

const type = "scrypt";
const label = "age-encryption.org/v1/scrypt";
const cipher = "chacha20-poly1305";
/** The cost that `age -p` uses: 256 MiB and about a second. */
const workFactor = 18;
const largestWorkFactor = 20;
const nonce = Buffer.alloc(12);
const tagBytes = 16;
const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

export function passphraseRecipient(
  passphrase: string,
  makeStanza: (parts: string[], body: Uint8Array) => Stanza,
): Recipient {
  return {
    async wrapFileKey(fileKey) {
      const salt = randomBytes(16);
      const sealing = createCipheriv(cipher, await passphraseKey(passphrase, salt), nonce, {
        authTagLength: tagBytes,
      });
      const body = Buffer.concat([sealing.update(fileKey), sealing.final(), sealing.getAuthTag()]);
      const parts = [type, salt.toString("base64").replace(/=+$/, ""), String(workFactor)];
      return [makeStanza(parts, new Uint8Array(body))];
    },
  };
}

export function passphraseIdentity(passphrase: string): Identity {
  return {
    async unwrapFileKey(stanzas) {
      const [stanza] = stanzas;
      if (stanza?.args[0] !== type) return null;
      const [, saltText = "", factor = ""] = stanza.args;
      const salt = Buffer.from(saltText, "base64");
      const usable = stanzas.length === 1 && stanza.args.length === 3 && stanza.body.length === 32;
      if (!usable || salt.length !== 16 || !/^[1-9]\d?$/.test(factor)) throw new Error("invalid scrypt stanza");
      if (Number(factor) > largestWorkFactor) throw new Error("the scrypt work factor is too high");
      const opening = createDecipheriv(cipher, await passphraseKey(passphrase, salt, Number(factor)), nonce, {
        authTagLength: tagBytes,
      });
      opening.setAuthTag(stanza.body.subarray(-tagBytes));
      try {
        return new Uint8Array(Buffer.concat([opening.update(stanza.body.subarray(0, -tagBytes)), opening.final()]));
      } catch {
        return null; // another passphrase: null is the library's answer for "not mine"
      }
    },
  };
}

/** 32 bytes. */
export function passphraseKey(passphrase: string, salt: Buffer, factor: number = workFactor): Promise<Buffer> {
  const N = 2 ** factor;
  return derive(passphrase, Buffer.concat([Buffer.from(label), salt]), 32, {
    N,
    r: 8,
    p: 1,
    maxmem: N * 1024 + 2 ** 20,
  });
}
