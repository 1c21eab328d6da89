/** A key in a file of its own: readable by its owner only, written whole, and never replaced. */
import { dirname } from "node:path";
import type { RuntimeFault } from "@postern/core";
import { codeOf, makeOwnFolder } from "@postern/core/system";
import { openIfThere } from "./plain-file.ts";
import { createWhole } from "./whole-file.ts";

export interface KeyFile<Key> {
  /** Absolute. */
  readonly path: string;
  /** A larger file is not a key file. */
  readonly mostBytes: number;
  /** Reads the key; throws `invalid` when the text is not a key. */
  readonly parse: (text: string) => Key;
  /** @param why continues the sentence after the path */
  readonly invalid: (why: string, cause?: unknown) => RuntimeFault;
  /** For a file that other users may read. */
  readonly exposed: (mode: number) => RuntimeFault;
}

/** Returns undefined when the file does not exist. */
export async function readKeyFile<Key>({ path, mostBytes, parse, ...faults }: KeyFile<Key>): Promise<Key | undefined> {
  const file = await openIfThere(path).catch((error: unknown) => {
    const code = codeOf(error);
    throw faults.invalid(
      code === "ELOOP" ? "is a link; put the key itself there" : `cannot be opened (${code})`,
      error,
    );
  });
  if (file === undefined) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > mostBytes) throw faults.invalid("is not a key file");
    if ((found.mode & 0o077) !== 0) throw faults.exposed(found.mode);
    return parse(await file.readFile("utf8"));
  } finally {
    await file.close();
  }
}

/** The key in the file, or a new one. Two processes that do this at once get the same key. */
export async function readOrMakeKeyFile<Key>(file: KeyFile<Key>, make: () => Promise<string> | string): Promise<Key> {
  const kept = await readKeyFile(file);
  if (kept !== undefined) return kept;
  makeOwnFolder(dirname(file.path));
  await createWhole(file.path, Buffer.from(await make()));
  const made = await readKeyFile(file);
  if (made === undefined) throw file.invalid("was removed while it was made; try again");
  return made;
}
