import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { RuntimeFault } from "../core/fault.ts";
import { type KeyFile, readOrMakeKeyFile } from "../core/system/key-file.ts";

/** What frozen scripts are sealed with. */
export interface ImageKey {
  readonly bytes: Uint8Array;
  /** Names it without telling it. */
  readonly id: string;
}

const keyBytes = 32;

/**
 * The installation's own, `chains.key` in its folder (readable by its owner only); made on first use. Without a folder one
 * that ends with the process, as the store does that the images are in.
 *
 * @throws RuntimeFault `chain_key_invalid`: it is never replaced silently, because every frozen script would be lost
 */
export async function imageKey(folder: string | undefined): Promise<ImageKey> {
  if (folder === undefined) return keyOf(randomBytes(keyBytes));
  return readOrMakeKeyFile(keyFileIn(folder), () => `${randomBytes(keyBytes).toString("base64")}\n`);
}

function keyFileIn(folder: string): KeyFile<ImageKey> {
  const path = join(folder, "chains.key");
  const invalid = (why: string, cause?: unknown): RuntimeFault =>
    new RuntimeFault("chain_key_invalid", `The key of frozen scripts, \`${path}\`, ${why}.`, { cause });
  return {
    ...{ path, mostBytes: 1000, invalid },
    exposed: () => invalid("can be read by others; `chmod 0600` it"),
    parse: (text) => {
      const bytes = Buffer.from(text.trim(), "base64");
      if (bytes.byteLength === keyBytes) return keyOf(bytes);
      throw invalid("does not hold a key of 32 bytes; put the right one back");
    },
  };
}

function keyOf(bytes: Uint8Array): ImageKey {
  return { bytes, id: createHash("sha256").update("postern chain key\n").update(bytes).digest("hex").slice(0, 16) };
}
