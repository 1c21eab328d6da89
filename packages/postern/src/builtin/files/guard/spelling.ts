import { lstatSync, readdirSync } from "node:fs";
import type { Folder } from "./folder.ts";
import { rejectionOf } from "./rejection.ts";

/**
 * The names beneath a folder as the disk spells them. A name that is not there is looked for in its other Unicode normal
 * form, because archives of macOS hold NFD and people and models write NFC. A name that is in neither form stays.
 */
export function asOnDisk(top: Folder, parts: readonly string[]): readonly string[] {
  if (parts.every((part) => /^[\0-\x7f]*$/.test(part))) return parts;
  const found: string[] = [];
  let folder = top.descend([]);
  try {
    for (const [i, part] of parts.entries()) {
      found.push(spelledIn(folder, part));
      if (i === parts.length - 1) break;
      const next = folder.descend(found.slice(-1));
      folder[Symbol.dispose]();
      folder = next;
    }
  } catch (error) {
    if (rejectionOf(error) === undefined) throw error; // the use of the path says why it is refused
  } finally {
    folder[Symbol.dispose]();
  }
  return [...found, ...parts.slice(found.length)];
}

function spelledIn(folder: Folder, name: string): string {
  if (lstatSync(folder.at(name), { throwIfNoEntry: false }) !== undefined) return name;
  const wanted = name.normalize("NFC");
  return readdirSync(folder.self).find((one) => one.normalize("NFC") === wanted) ?? name;
}
