import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { RuntimeFault } from "../calls/fault.ts";
import { codeOf } from "../system/error-code.ts";
import { makeOwnFolder } from "../system/own-folder.ts";
import { openIfThere } from "../system/plain-file.ts";
import { createWhole } from "../system/whole-file.ts";

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
  makeOwnFolder(folder);
  const path = join(folder, "chains.key");
  const kept = await readKey(path);
  if (kept !== undefined) return keyOf(kept);
  await createWhole(path, Buffer.from(`${randomBytes(keyBytes).toString("base64")}\n`));
  const made = await readKey(path); // two that do this at once get the same one
  if (made === undefined) throw invalid(path, "was removed while it was made; try again");
  return keyOf(made);
}

async function readKey(path: string): Promise<Uint8Array | undefined> {
  const file = await openIfThere(path).catch((error: unknown) => {
    throw invalid(path, `cannot be opened (${codeOf(error)})`);
  });
  if (file === undefined) return undefined;
  try {
    const { mode, size } = await file.stat();
    if ((mode & 0o170000) !== 0o100000 || size > 1000) throw invalid(path, "is not a key file");
    if ((mode & 0o077) !== 0) throw invalid(path, "can be read by others; `chmod 0600` it");
    const bytes = Buffer.from((await file.readFile("utf8")).trim(), "base64");
    if (bytes.byteLength !== keyBytes) throw invalid(path, "does not hold a key of 32 bytes; put the right one back");
    return bytes;
  } finally {
    await file.close();
  }
}

function keyOf(bytes: Uint8Array): ImageKey {
  return { bytes, id: createHash("sha256").update("postern chain key\n").update(bytes).digest("hex").slice(0, 16) };
}

function invalid(path: string, why: string): RuntimeFault {
  return new RuntimeFault("chain_key_invalid", `The key of frozen scripts, \`${path}\`, ${why}.`);
}
