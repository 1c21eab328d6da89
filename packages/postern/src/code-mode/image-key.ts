/** The key of frozen scripts. */
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { RuntimeFault } from "@postern/core";
import { givenSecret } from "../system/given-secret.ts";
import { type KeyFile, readOrMakeKeyFile } from "../system/key-file.ts";
import { sealingKeyBytes } from "../system/sealed-bytes.ts";

/** The key that frozen scripts are sealed with. */
export interface ImageKey {
  readonly bytes: Uint8Array;
  /** Names the key and does not reveal it. */
  readonly id: string;
}

/**
 * Reads the key of the installation: from `POSTERN_CHAINS_KEY` or the file that `POSTERN_CHAINS_KEY_FILE` names, else `chains.key` in its folder, readable by its owner only, made on first use. Without a
 * folder the key ends with the process, as the store that holds the images does.
 *
 * @throws RuntimeFault `config_invalid`. The key is never replaced silently, because every frozen script would be lost
 */
export async function imageKey(folder: string | undefined): Promise<ImageKey> {
  if (folder === undefined) return keyOf(randomBytes(sealingKeyBytes));
  const given = await givenSecret("POSTERN_CHAINS_KEY");
  if (given !== undefined) return keyFileIn(folder, given.from).parse(given.text);
  return readOrMakeKeyFile(keyFileIn(folder), () => `${randomBytes(sealingKeyBytes).toString("base64")}\n`);
}

function keyFileIn(folder: string, from?: string): KeyFile<ImageKey> {
  const path = join(folder, "chains.key");
  const invalid = (why: string, cause?: unknown): RuntimeFault =>
    new RuntimeFault("config_invalid", `The key of frozen scripts, ${from ?? `\`${path}\``}, ${why}.`, { cause });
  return {
    ...{ path, mostBytes: 1000, invalid },
    exposed: () => invalid("can be read by others; `chmod 0600` it"),
    parse: (text) => {
      const bytes = Buffer.from(text.trim(), "base64");
      if (bytes.byteLength === sealingKeyBytes) return keyOf(bytes);
      throw invalid("does not hold a key of 32 bytes; put the right one back");
    },
  };
}

function keyOf(bytes: Uint8Array): ImageKey {
  return { bytes, id: createHash("sha256").update("postern chain key\n").update(bytes).digest("hex").slice(0, 16) };
}
