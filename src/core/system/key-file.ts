/** A key in a file of its own: for its owner alone, whole or not there, and never replaced. */
import { dirname } from "node:path";
import type { RuntimeFault } from "../fault.ts";
import { codeOf } from "./error-code.ts";
import { makeOwnFolder } from "./own-folder.ts";
import { openIfThere } from "./plain-file.ts";
import { createWhole } from "./whole-file.ts";

export interface KeyFile<Key> {
  /** Absolute. */
  readonly path: string;
  /** A larger file is another one. */
  readonly mostBytes: number;
  /** What the text holds; throws `invalid` for what is no key. */
  readonly parse: (text: string) => Key;
  /** @param why goes on after the path */
  readonly invalid: (why: string, cause?: unknown) => RuntimeFault;
  /** Of a file that others may use. */
  readonly exposed: (mode: number) => RuntimeFault;
}

/** Undefined: there is no such file. */
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

/** The key that is there, else a new one. Two that do this at once get the same one. */
export async function readOrMakeKeyFile<Key>(file: KeyFile<Key>, make: () => Promise<string> | string): Promise<Key> {
  const kept = await readKeyFile(file);
  if (kept !== undefined) return kept;
  makeOwnFolder(dirname(file.path));
  await createWhole(file.path, Buffer.from(await make()));
  const made = await readKeyFile(file);
  if (made === undefined) throw file.invalid("was removed while it was made; try again");
  return made;
}
