import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { messageOf, RuntimeFault } from "@postern/core";

/**
 * An Ed25519 key as PKCS 8.
 *
 * @param from where it was read, with its backticks
 * @param fix what to do with a key that cannot be used
 * @throws RuntimeFault `config_invalid`
 */
export function readSigningKey(pem: string, from: string, fix: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType !== "ed25519") throw new TypeError("it is not an Ed25519 key");
    return key;
  } catch (error) {
    throw new RuntimeFault("config_invalid", `${from} cannot be used: ${messageOf(error)}. ${fix}`, { cause: error });
  }
}

export function newSigningKey(): KeyObject {
  return generateKeyPairSync("ed25519").privateKey;
}

export function signingKeyText(key: KeyObject): string {
  return key.export({ format: "pem", type: "pkcs8" }).toString();
}
