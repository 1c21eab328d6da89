import { closeSync, fstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import { type Folder, walkBeneath } from "../files/guard/folder.ts";
import { openRoot } from "../files/guard/plain-folder.ts";
import { FileRejection, rejectionOf } from "../files/guard/rejection.ts";
import { asOnDisk } from "../files/guard/spelling.ts";

const maxPathBytes = 4_095;
const maxPartBytes = 255;
const maxListed = 200;
const maxDepth = 6;
/** How many names are read for a list of files: a folder of a million is not walked. */
const maxRead = 2_000;

export interface SkillEntry {
  readonly name: string;
  readonly isLink: boolean;
}

/**
 * A folder with skills in it, read beneath itself and through no link. It does not stay open between two reads. If another
 * folder replaced it, it is refused.
 *
 * Contract: throws `FileRejection`, whose message holds no path, for everything that the disk or the guard refuses.
 */
export class SkillFolder {
  /** Absolute. Links in it are followed once, because the operator configures it. */
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

  /** Folders and links to folders, in order of their characters. */
  entries(): readonly SkillEntry[] {
    return this.#open((folder) =>
      readdirSync(folder.self, { withFileTypes: true })
        .filter(({ name }) => !name.startsWith(".") && !name.startsWith("_"))
        .filter((entry) => entry.isDirectory() || (entry.isSymbolicLink() && leadsToFolder(folder.at(entry.name))))
        .map((entry) => ({ name: entry.name, isLink: entry.isSymbolicLink() }))
        .sort((one, other) => (one.name < other.name ? -1 : 1)),
    );
  }

  /** All bytes of a plain file beneath. */
  read(parts: readonly string[], maxBytes: number): Buffer {
    return this.#open((folder) => {
      const descriptor = folder.openFile(asOnDisk(folder, parts));
      try {
        const { size } = fstatSync(descriptor);
        if (size > maxBytes) throw new FileRejection("too_large", `has ${size} bytes; at most ${maxBytes} are read.`);
        const bytes = readFileSync(descriptor);
        if (bytes.length <= maxBytes) return bytes;
        throw new FileRejection("too_large", `grew beyond ${maxBytes} bytes while it was read.`);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  /** The files of one skill, without links, hidden files and SKILL.md itself. */
  files(skill: string): readonly string[] {
    return this.#open((folder) => {
      const found: string[] = [];
      let read = 0;
      const walk = (parts: readonly string[], depth: number): void => {
        using here = folder.descend(parts);
        for (const entry of readdirSync(here.self, { withFileTypes: true }).sort((a, b) =>
          a.name < b.name ? -1 : 1,
        )) {
          read += 1;
          if (found.length >= maxListed || read > maxRead) return;
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

  #open<T>(use: (folder: Folder) => T): T {
    return guarded(() => {
      const check = ({ dev, ino }: Stats): void => {
        if (dev !== this.#device || ino !== this.#inode)
          throw new FileRejection("root_replaced", "is not the folder it was at the start. Restart to accept it.");
      };
      using folder = openRoot(this.path, { hardLinks: false, beneath: walkBeneath, check });
      return use(folder);
    });
  }
}

/**
 * The parts of an agent's path, relative to its skill's folder.
 *
 * @throws FileRejection
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

/** Errors of the system hold absolute paths, so only their kind is used. */
function guarded<T>(use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw rejectionOf(error) ?? error;
  }
}
