import { closeSync, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { canHold, type Folder, folderHandle, HeldFolder, walkBeneath } from "../files/guard/folder.ts";
import { PlainFolder } from "../files/guard/plain-folder.ts";
import { FileRejection, rejectionOf } from "../files/guard/rejection.ts";

const maxPathBytes = 4_095;
const maxPartBytes = 255;
const maxListed = 200;
const maxDepth = 6;
/** How many names are looked at for a list of files: a folder of a million is not walked. */
const maxLooked = 2_000;

export interface SkillEntry {
  readonly name: string;
  readonly isLink: boolean;
}

/**
 * A folder with skills in it, read beneath itself through no link. Nothing is held between two readings; a folder that
 * was replaced by another one meanwhile is refused.
 *
 * Contract: throws `Rejection`, whose words hold no path, for whatever the disk or the guard refuses.
 */
export class SkillFolder {
  /** Absolute, links in it followed once: whoever configures it may use them. */
  readonly path: string;
  readonly #device: number;
  readonly #inode: number;

  constructor(given: string) {
    this.path = guarded(() => realpathSync(resolve(given)));
    const stats = guarded(() => statSync(this.path));
    if (!stats.isDirectory()) throw new FileRejection("not_a_folder");
    this.#device = stats.dev;
    this.#inode = stats.ino;
  }

  /** What could be a skill: folders, and links to folders, in the order of their characters. */
  entries(): readonly SkillEntry[] {
    return this.#held((folder) =>
      readdirSync(folder.self, { withFileTypes: true })
        .filter(({ name }) => !name.startsWith(".") && !name.startsWith("_"))
        .filter((entry) => entry.isDirectory() || (entry.isSymbolicLink() && leadsToFolder(folder.at(entry.name))))
        .map((entry) => ({ name: entry.name, isLink: entry.isSymbolicLink() }))
        .sort((one, other) => (one.name < other.name ? -1 : 1)),
    );
  }

  /** Bytes of a plain file beneath, whole or not at all. */
  read(parts: readonly string[], maxBytes: number): Buffer {
    return this.#held((folder) => {
      const descriptor = folder.openFile(parts);
      try {
        const { size } = fstatSync(descriptor);
        if (size > maxBytes) throw new FileRejection("too_large", `has ${size} bytes; at most ${maxBytes} are read.`);
        return whole(descriptor, maxBytes);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  /** Of one skill: its files, without links, hidden ones and SKILL.md itself. */
  files(skill: string): readonly string[] {
    return this.#held((folder) => {
      const found: string[] = [];
      let looked = 0;
      const walk = (parts: readonly string[], depth: number): void => {
        using here = folder.descend(parts);
        for (const entry of readdirSync(here.self, { withFileTypes: true }).sort((a, b) =>
          a.name < b.name ? -1 : 1,
        )) {
          looked += 1;
          if (found.length >= maxListed || looked > maxLooked) return;
          if (entry.name.startsWith(".")) continue;
          const below = [...parts, entry.name];
          if (entry.isDirectory() && depth < maxDepth) walk(below, depth + 1);
          else if (entry.isFile() && !isSkillFile(below.slice(1))) found.push(below.slice(1).join("/"));
        }
      };
      walk([skill], 0);
      return found;
    });
  }

  #held<T>(use: (folder: Folder) => T): T {
    return guarded(() => {
      using folder = this.#open();
      return use(folder);
    });
  }

  #open(): Folder {
    const rules = { device: this.#device, hardLinks: false };
    if (!canHold()) {
      this.#check(statSync(this.path));
      return new PlainFolder(this.path, rules);
    }
    const folder = new HeldFolder(openSync(this.path, folderHandle), rules, walkBeneath);
    try {
      this.#check(fstatSync(folder.descriptor));
      return folder;
    } catch (error) {
      folder[Symbol.dispose]();
      throw error;
    }
  }

  #check({ dev, ino }: { readonly dev: number; readonly ino: number }): void {
    if (dev !== this.#device || ino !== this.#inode)
      throw new FileRejection("root_replaced", "is not the folder it was at the start. Restart to accept it.");
  }
}

/**
 * A path as an agent gave it, relative to its skill's folder.
 *
 * @throws Rejection
 */
export function partsOf(path: string): readonly string[] {
  if (path.includes("\0") || Buffer.byteLength(path) > maxPathBytes || !path.isWellFormed())
    throw new FileRejection("path_invalid");
  if (path.startsWith("/") || /^[A-Za-z]:|\\/.test(path))
    throw new FileRejection("absolute", "is not relative to the skill's folder with `/` between its parts.");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes(".."))
    throw new FileRejection("parent", "holds `..`; nothing outside the skill's folder can be read.");
  if (parts.some((part) => Buffer.byteLength(part) > maxPartBytes)) throw new FileRejection("path_invalid");
  if (parts.length === 0 || /(^|\/)\.?$/.test(path)) throw new FileRejection("is_a_folder");
  return parts;
}

export function isSkillFile([name = "", ...below]: readonly string[]): boolean {
  return below.length === 0 && (name === "SKILL.md" || name === "skill.md");
}

function leadsToFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function whole(descriptor: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(65_536);
    const bytes = readSync(descriptor, chunk, 0, chunk.length, null);
    if (bytes === 0) return Buffer.concat(chunks);
    total += bytes;
    if (total > maxBytes) throw new FileRejection("too_large", `grew beyond ${maxBytes} bytes while it was read.`);
    chunks.push(chunk.subarray(0, bytes));
  }
}

/** Errors of the system carry absolute paths in their words: only their kind goes on. */
function guarded<T>(use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw rejectionOf(error) ?? error;
  }
}
