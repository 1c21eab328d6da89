import { createHash, createPublicKey, type KeyObject, sign } from "node:crypto";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { RuntimeFault } from "@postern/core";
import { codeOf, makeOwnFolder } from "@postern/core/system";
import { type GivenSecret, givenSecret, type SecretEnvironment } from "../system/given-secret.ts";
import { newSigningKey, readSigningKey, signingKeyText } from "../system/signing-key.ts";
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
const fix = "Put the log's own key back.";

/** A new key, for a log that ends with its process. */
export function createSigner(): Signer {
  return signerOf(newSigningKey());
}

/**
 * The key of the log in this folder: `POSTERN_AUDIT_KEY` or the file that `POSTERN_AUDIT_KEY_FILE` names, else `audit.key`
 * (PKCS 8, readable by its owner only), and `audit.pub`. Both files are made on first use.
 *
 * A missing or wrong key is never replaced silently: every checkpoint that it signed would become worthless.
 *
 * @throws RuntimeFault `config_invalid`
 */
export async function loadSigner(folder: string, environment?: SecretEnvironment): Promise<Signer> {
  makeOwnFolder(folder);
  const given = await givenSecret("POSTERN_AUDIT_KEY", environment);
  if (given !== undefined) return loadGiven(given, join(folder, "audit.pub"));
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
  const signer = signerOf(
    readSigningKey(keyText ?? (await create(path, signingKeyText(newSigningKey()))), `\`${path}\``, fix),
  );
  const published = publicText ?? (await create(publicPath, `${signer.publicKey}\n`));
  if (published.trim() !== signer.publicKey) {
    throw new RuntimeFault(
      "config_invalid",
      `\`${publicPath}\` is not the public key of \`${path}\`. Put the pair back that belongs together.`,
    );
  }
  await chmod(path, 0o600).catch((error: unknown) => {
    if (codeOf(error) !== "EROFS") throw error; // a mount decides who reads it
  });
  if (publicText === undefined) await chmod(publicPath, 0o644);
  return signer;
}

async function loadGiven({ text, from }: GivenSecret, publicPath: string): Promise<Signer> {
  const signer = signerOf(readSigningKey(text, from, fix));
  const published = (await textOf(publicPath)) ?? (await create(publicPath, `${signer.publicKey}\n`));
  if (published.trim() === signer.publicKey) return signer;
  throw new RuntimeFault(
    "config_invalid",
    `\`${publicPath}\` is not the public key of ${from}: this folder's log was signed with another key. Give that key, or name another data folder.`,
  );
}

function signerOf(key: KeyObject): Signer {
  const raw = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
  const origin = `postern/${createHash("sha256").update(raw).digest("hex").slice(0, 16)}`;
  const typed = Buffer.concat([Buffer.of(algorithm), raw]);
  const keyId = createHash("sha256").update(`${origin}\n`).update(typed).digest("hex").slice(0, 8);
  const publicKey = `${origin}+${keyId}+${typed.toString("base64")}`;
  return { origin, keyId, publicKey, sign: (text) => sign(null, Buffer.from(text), key) };
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
