import { dirname } from "node:path";
import { RuntimeFault } from "../calls/fault.ts";
import { codeOf } from "../system/error-code.ts";
import { makeOwnFolder } from "../system/own-folder.ts";
import { openIfThere } from "../system/plain-file.ts";
import { createWhole } from "../system/whole-file.ts";

/** What opens the sealed file, and where it was found. */
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
const mostKeyFileBytes = 10_000;

/**
 * From the environment, else from the key file. Undefined: there is none.
 *
 * @throws RuntimeFault `secrets_key_invalid`, or `secrets_key_exposed` for a file that others can read
 */
export async function readSealingKey({ keyFile, environment }: KeySource): Promise<SealingKey | undefined> {
  const given = environment[keyVariable]?.trim();
  if (given === undefined || given === "") return keyFromFile(keyFile);
  if (identity.test(given)) return { kind: "identity", text: given, from: `\`${keyVariable}\`` };
  if (given.startsWith("AGE-SECRET-KEY-"))
    throw invalid(`\`${keyVariable}\``, "begins as an age identity and is none; give it whole, on one line");
  if (given.length < fewestPassphraseCharacters)
    throw invalid(
      `\`${keyVariable}\``,
      `is a passphrase of fewer than ${fewestPassphraseCharacters} characters; use a longer one`,
    );
  return { kind: "passphrase", text: given, from: `\`${keyVariable}\`` };
}

/** The one that is there, else a new identity in the key file. Two that do this at once get the same one. */
export async function readOrMakeSealingKey(source: KeySource): Promise<SealingKey> {
  const kept = await readSealingKey(source);
  if (kept !== undefined) return kept;
  const { generateX25519Identity, identityToRecipient } = await import("age-encryption");
  const made = await generateX25519Identity();
  const text = `# public key: ${await identityToRecipient(made)}\n${made}\n`;
  makeOwnFolder(dirname(source.keyFile));
  await createWhole(source.keyFile, Buffer.from(text));
  const key = await keyFromFile(source.keyFile);
  if (key === undefined) throw invalid(`\`${source.keyFile}\``, "was removed while it was made; try again");
  return key;
}

async function keyFromFile(path: string): Promise<SealingKey | undefined> {
  const from = `\`${path}\``;
  const file = await openIfThere(path).catch((error: unknown) => {
    const why =
      codeOf(error) === "ELOOP" ? "is a link; put the key itself there" : `cannot be opened (${codeOf(error)})`;
    throw invalid(from, why, error);
  });
  if (file === undefined) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > mostKeyFileBytes) throw invalid(from, "is not a file with an age identity");
    if ((found.mode & 0o077) !== 0) throw exposed(path, found.mode);
    const lines = (await file.readFile("utf8")).split("\n").map((line) => line.trim());
    const said = lines.filter((line) => line !== "" && !line.startsWith("#"));
    const [text] = said;
    if (text === undefined || said.length > 1 || !identity.test(text))
      throw invalid(from, "does not hold exactly one age identity (`AGE-SECRET-KEY-1…`); put the right key back");
    return { kind: "identity", text, from };
  } finally {
    await file.close();
  }
}

function exposed(path: string, mode: number): RuntimeFault {
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return new RuntimeFault(
    "secrets_key_exposed",
    `\`${path}\` can be used by others (mode ${shown}), so what it seals is not sealed. Change secrets that may have been read, then \`chmod 0600 ${JSON.stringify(path)}\`.`,
  );
}

function invalid(from: string, why: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault("secrets_key_invalid", `The key of the sealed secrets, ${from}, ${why}.`, { cause });
}
