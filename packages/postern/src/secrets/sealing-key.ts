import { RuntimeFault } from "@postern/core";
import { givenSecret } from "../system/given-secret.ts";
import { type KeyFile, readKeyFile, readOrMakeKeyFile } from "../system/key-file.ts";

/** The key of the sealed file, and where it was found. */
export interface SealingKey {
  readonly kind: "identity" | "passphrase";
  readonly text: string;
  readonly from: string;
}

export interface KeySource {
  /** Absolute. */
  readonly keyFile: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const keyVariable = "POSTERN_SECRETS_KEY";
const identity = /^AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]+$/;
const fewestPassphraseCharacters = 12;

/**
 * Reads the key from the environment (`POSTERN_SECRETS_KEY`, or the file that `POSTERN_SECRETS_KEY_FILE` names), else from the key file. Returns undefined when there is none.
 *
 * @throws RuntimeFault `secrets_key_invalid`, also for a file that others can read
 */
export async function readSealingKey({ keyFile, environment }: KeySource): Promise<SealingKey | undefined> {
  const found = await givenSecret(keyVariable, environment);
  if (found === undefined) return readKeyFile(keyFileAt(keyFile));
  const { from } = found;
  const given = withoutComments(found.text);
  if (identity.test(given)) return { kind: "identity", text: given, from };
  if (given.startsWith("AGE-SECRET-KEY-"))
    throw invalid(from, "begins as an age identity and is none; give it whole, on one line");
  if (given.length < fewestPassphraseCharacters)
    throw invalid(from, `is a passphrase of fewer than ${fewestPassphraseCharacters} characters; use a longer one`);
  return { kind: "passphrase", text: given, from };
}

/** `age-keygen` writes comments before the identity. */
function withoutComments(text: string): string {
  const lines = text.split("\n").filter((line) => !line.startsWith("#"));
  return lines.join("\n").trim();
}

/** The existing key, or a new identity in the key file. */
export async function readOrMakeSealingKey(source: KeySource): Promise<SealingKey> {
  const kept = await readSealingKey(source);
  return kept ?? readOrMakeKeyFile(keyFileAt(source.keyFile), newIdentity);
}

async function newIdentity(): Promise<string> {
  const { generateX25519Identity, identityToRecipient } = await import("age-encryption");
  const made = await generateX25519Identity();
  return `# public key: ${await identityToRecipient(made)}\n${made}\n`;
}

function keyFileAt(path: string): KeyFile<SealingKey> {
  const from = `\`${path}\``;
  return {
    ...{ path, mostBytes: 10_000, invalid: (why, cause) => invalid(from, why, cause) },
    exposed: (mode) => exposed(path, mode),
    parse: (text) => {
      const lines = text.split("\n").map((line) => line.trim());
      const [key, ...more] = lines.filter((line) => line !== "" && !line.startsWith("#"));
      if (key !== undefined && more.length === 0 && identity.test(key)) return { kind: "identity", text: key, from };
      throw invalid(from, "does not hold exactly one age identity (`AGE-SECRET-KEY-1…`); put the right key back");
    },
  };
}

function exposed(path: string, mode: number): RuntimeFault {
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return new RuntimeFault(
    "secrets_key_invalid",
    `\`${path}\` can be used by others (mode ${shown}), so what it seals is not sealed. Change secrets that may have been read, then \`chmod 0600 ${JSON.stringify(path)}\`.`,
  );
}

function invalid(from: string, why: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault("secrets_key_invalid", `The key of the sealed secrets, ${from}, ${why}.`, { cause });
}
