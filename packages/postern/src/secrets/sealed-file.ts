import type { BigIntStats } from "node:fs";
import { RuntimeFault } from "@postern/core";
import { codeOf } from "@postern/core/system";
import { openIfThere } from "../system/plain-file.ts";
import { writeWhole } from "../system/whole-file.ts";
import { passphraseIdentity, passphraseRecipient } from "./passphrase.ts";
import { type KeySource, keyVariable, readOrMakeSealingKey, readSealingKey, type SealingKey } from "./sealing-key.ts";
import { checkSecretName } from "./secret-name.ts";

/** The place of the sealed secrets: an age file (age-encryption.org/v1), which `age -d -i KEYFILE FILE` opens too. */
export interface SealedPlace extends KeySource {
  /** Absolute. */
  readonly file: string;
}

/** Values by `connector/key`. Names contain no `/`. */
export type Entries = ReadonlyMap<string, string>;

export interface OpenedSecrets {
  readonly entries: Entries;
  readonly key: SealingKey;
  /** Identifies the version of the file that the entries come from. */
  readonly stamp: string;
}

/** Far more than a thousand secrets. A larger file is not one of Postern. */
const mostFileBytes = 64 * 1024 * 1024;

/**
 * Returns undefined when the file does not exist.
 *
 * @throws RuntimeFault `secrets_key_invalid`, `config_invalid` and those of the key. Reading
 * changes nothing.
 */
export async function openSealed(place: SealedPlace): Promise<OpenedSecrets | undefined> {
  const read = await readFileAt(place.file);
  if (read === undefined) return undefined;
  const key = await readSealingKey(place);
  if (key === undefined) {
    throw new RuntimeFault(
      "secrets_key_invalid",
      `\`${place.file}\` is sealed and its key is not there; put it back as \`${place.keyFile}\`, or into \`${keyVariable}\`.`,
    );
  }
  return { entries: entriesOf(await unsealed(read.bytes, key, place.file), place.file), key, stamp: read.stamp };
}

/** Identifies the version of the file; cheap enough for every loan. Returns undefined when the file does not exist. */
export async function stampOf(file: string): Promise<string | undefined> {
  const { stat } = await import("node:fs/promises");
  try {
    return stampIn(await stat(file, { bigint: true }));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw unreadable(file, error);
  }
}

/**
 * Replaces the entries by the result of `change`. A missing file or key is made. A second change at the same time
 * waits. An unreadable file is never overwritten.
 */
export async function changeSealed(place: SealedPlace, change: (entries: Entries) => Entries): Promise<void> {
  const { withLock } = await import("./vault-lock.ts"); // loaded only for writing
  await withLock(`${place.file}.lock`, async () => {
    const opened = await openSealed(place);
    const changed = change(opened?.entries ?? new Map());
    if (changed === opened?.entries) return;
    const key = opened?.key ?? (await readOrMakeSealingKey(place));
    await writeWhole(place.file, await sealed(changed, key));
  });
}

async function readFileAt(path: string): Promise<{ readonly bytes: Uint8Array; readonly stamp: string } | undefined> {
  const file = await openIfThere(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (file === undefined) return undefined;
  try {
    const found = await file.stat({ bigint: true });
    if (found.size > mostFileBytes) throw damaged(path, "it is far too large");
    return { bytes: await file.readFile(), stamp: stampIn(found) };
  } catch (error) {
    throw error instanceof RuntimeFault ? error : unreadable(path, error);
  } finally {
    await file.close();
  }
}

function stampIn({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].join(".");
}

async function unsealed(bytes: Uint8Array, key: SealingKey, file: string): Promise<string> {
  const { Decrypter } = await import("age-encryption");
  const opener = new Decrypter();
  try {
    opener.addIdentity(key.kind === "identity" ? key.text : passphraseIdentity(key.text));
  } catch (cause) {
    throw new RuntimeFault(
      "secrets_key_invalid",
      `The key of the sealed secrets, ${key.from}, is not an age identity.`,
      {
        cause,
      },
    );
  }
  try {
    return await opener.decrypt(new Uint8Array(bytes), "text");
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    // The library's message quotes the file, which may hold plain values.
    if (!why.includes("no identity matched"))
      throw damaged(file, "it was cut short or changed, or never was an age file");
    throw new RuntimeFault(
      "secrets_key_invalid",
      `\`${file}\` was not sealed with the key in ${key.from}. Put back the key it was sealed with; nothing was changed.`,
    );
  }
}

async function sealed(entries: Entries, key: SealingKey): Promise<Uint8Array> {
  const { Encrypter, Stanza, identityToRecipient } = await import("age-encryption");
  const sealer = new Encrypter();
  sealer.addRecipient(
    key.kind === "identity"
      ? await identityToRecipient(key.text)
      : passphraseRecipient(key.text, (parts, body) => new Stanza(parts, body)),
  );
  const secrets = [...entries].sort(([one], [other]) => (one < other ? -1 : 1));
  return sealer.encrypt(JSON.stringify({ version: 1, secrets }));
}

/** The content is checked, although it was sealed with the key. */
function entriesOf(text: string, file: string): Entries {
  const entries = new Map<string, string>();
  try {
    const { version, secrets }: { version?: unknown; secrets?: unknown } = JSON.parse(text);
    if (version !== 1 || !Array.isArray(secrets)) throw new TypeError("not version 1");
    for (const [name, value] of secrets as readonly (readonly unknown[])[]) {
      if (typeof name !== "string" || typeof value !== "string") throw new TypeError("a name or a value is no text");
      const [connector = "", key = "", ...more] = name.split("/");
      checkSecretName(connector, key);
      if (more.length > 0) throw new TypeError("a name has too many parts");
      entries.set(name, value);
    }
    return entries;
  } catch {
    throw damaged(file, "its content is not secrets of Postern"); // the parser's message would quote them
  }
}

function damaged(file: string, why: string): RuntimeFault {
  return new RuntimeFault(
    "config_invalid",
    `\`${file}\` cannot be opened: ${why}. Put a copy of it back, or move it away and set the secrets again.`,
  );
}

function unreadable(file: string, cause: unknown): RuntimeFault {
  return new RuntimeFault(
    "config_invalid",
    `\`${file}\` cannot be read (${codeOf(cause)}); give it to the user that runs Postern, with \`chown\`.`,
    { cause },
  );
}
