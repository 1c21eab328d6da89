/**
 * Each `.git` beneath the shell's folder. A command sees those that are there read-only, and one that it makes is renamed
 * after it, because git runs what is in a `.git` (hooks, settings), outside the sandbox too.
 */
import { randomBytes } from "node:crypto";
import { lstatSync, readlinkSync, renameSync } from "node:fs";
import { FileRejection, type Files, type OpenFolder, rejectionOf } from "postern/builtin";

export interface GitEntry {
  /** From the shell's folder. */
  readonly path: string;
  /** `DEVICE:INODE`; of a link also its target, because a new link may get the inode of an old one. */
  readonly identity: string;
  /** It cannot be made read-only. */
  readonly isLink: boolean;
}

/** bubblewrap takes at most 9,000 arguments. */
const mostEntries = 1_000;
const anyCase = "**/.[gG][iI][tT]";

/** @throws FileRejection `search_stopped` if the folder has too much in it */
export async function gitEntries(files: Files, folder: OpenFolder, signal: AbortSignal): Promise<readonly GitEntry[]> {
  const { paths, truncated } = await files.find(folder, anyCase, { maxResults: mostEntries, signal });
  if (truncated === "time" || truncated === "results")
    throw new FileRejection("search_stopped", "has too many files, or too many `.git`, to keep each `.git` read-only.");
  return paths.flatMap((path) => entryAt(folder, path.replace(/^\/|\/$/g, "")) ?? []);
}

/**
 * Renames each `.git` that was not there before, and tells which.
 *
 * @returns a sentence for the model, or undefined if there is none
 */
export async function setAside(
  files: Files,
  folder: OpenFolder,
  before: readonly GitEntry[],
): Promise<string | undefined> {
  const known = new Set(before.map(({ identity }) => identity));
  try {
    const after = await gitEntries(files, folder, new AbortController().signal); // also after a call that was cancelled
    const made = after.filter(({ identity }) => !known.has(identity));
    const renamed = made.map(({ path }) => `\`${path}\` is now \`${renamedIn(folder, path)}\``);
    return renamed.length === 0 ? undefined : `Commands cannot make a \`.git\`: ${renamed.join(", ")}.`;
  } catch (error) {
    if (rejectionOf(error) === undefined) throw error;
    return "The command may have made a `.git`: that could not be checked or undone.";
  }
}

/** Returns undefined if it disappeared meanwhile. */
function entryAt(root: OpenFolder, path: string): GitEntry | undefined {
  const { parents, name } = partsOf(path);
  try {
    using folder = root.descend(parents);
    const stats = lstatSync(folder.at(name), { bigint: true });
    const isLink = stats.isSymbolicLink();
    const target = isLink ? `:${readlinkSync(folder.at(name))}` : "";
    return { path, identity: `${stats.dev}:${stats.ino}${target}`, isLink };
  } catch (error) {
    if (rejectionOf(error) === undefined) throw error;
    return undefined;
  }
}

/** @returns its new path */
function renamedIn(root: OpenFolder, path: string): string {
  const { parents, name } = partsOf(path);
  using folder = root.descend(parents);
  const other = `git-${randomBytes(4).toString("hex")}`;
  renameSync(folder.at(name), folder.at(other));
  return [...parents, other].join("/");
}

function partsOf(path: string): { readonly parents: readonly string[]; readonly name: string } {
  const parts = path.split("/");
  return { parents: parts.slice(0, -1), name: parts.at(-1) ?? "" };
}
