import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RuntimeFault } from "@postern/core";
import { codeOf, makeOwnFolder } from "@postern/core/system";
import { createWhole } from "../system/whole-file.ts";

/** Signs a log's checkpoints with one Ed25519 key. */
export interface Signer {
  /** The checkpoints' origin and the key's name: `postern/` + 16 hex digits of the public key's SHA-256. */
  readonly origin: string;
  /** Eight hex digits: the key hash of C2SP, and the log's part of an audit id. */
  readonly keyId: string;
  /** The C2SP verifier key, `<origin>+<key id>+<base64>`. A verifier needs it. */
  readonly publicKey: string;
  sign(text: string): Buffer;
}

/** Ed25519 in a C2SP key and signature. */
const algorithm = 1;

/** A new key, for a log that ends with its process. */
export function createSigner(): Signer {
  return signerOf(generateKeyPairSync("ed25519").privateKey);
}

/**
 * The key of the log in this folder: `audit.key` (PKCS 8, readable by its owner only), and `audit.pub`. Both are
 * made on first use.
 *
 * A missing or wrong key is never replaced silently: every checkpoint that it signed would become worthless.
 *
 * @throws RuntimeFault `config_invalid`
 */
export async function loadSigner(folder: string): Promise<Signer> {
  makeOwnFolder(folder);
  const path = join(folder, "audit.key");
  const publicPath = join(folder, "audit.pub");
  const publicText = await textOf(publicPath);
  const keyText = await textOf(path);
  if (keyText === undefined && publicText !== undefined) {
    throw new RuntimeFault(
      "config_invalid",
      `\`${path}\` is missing, and \`${publicPath}\` belongs to it. Put the key back; only to begin a new log, move both and the store away.`,
    );
  }
  const signer = signerOf(readKey(keyText ?? (await create(path, newKey())), path));
  const published = publicText ?? (await create(publicPath, `${signer.publicKey}\n`));
  if (published.trim() !== signer.publicKey) {
    throw new RuntimeFault(
      "config_invalid",
      `\`${publicPath}\` is not the public key of \`${path}\`. Put the pair back that belongs together.`,
    );
  }
  await chmod(path, 0o600);
  if (publicText === undefined) await chmod(publicPath, 0o644);
  return signer;
}

function signerOf(key: KeyObject): Signer {
  const raw = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  const origin = `postern/${createHash("sha256").update(raw).digest("hex").slice(0, 16)}`;
  const typed = Buffer.concat([Buffer.of(algorithm), raw]);
  const keyId = createHash("sha256").update(`${origin}\n`).update(typed).digest("hex").slice(0, 8);
  const publicKey = `${origin}+${keyId}+${typed.toString("base64")}`;
  return { origin, keyId, publicKey, sign: (text) => sign(null, Buffer.from(text), key) };
}

function readKey(pem: string, path: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType !== "ed25519") throw new TypeError("it is not an Ed25519 key");
    return key;
  } catch (error) {
    throw new RuntimeFault(
      "config_invalid",
      `\`${path}\` cannot be used: ${messageOf(error)}. Put the log's own key back.`,
      { cause: error },
    );
  }
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  return privateKey.export({ format: "pem", type: "pkcs8" }).toString();
}

/** Never replaces a file. Returns what the file holds then: another process may have been first. */
async function create(path: string, text: string): Promise<string> {
  await createWhole(path, Buffer.from(text));
  return await readFile(path, "utf8");
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
