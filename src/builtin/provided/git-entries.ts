/**
 * Each `.git` beneath the shell's folder. A command sees those that are there read-only, and one that it makes is renamed
 * after it, because git runs what is in a `.git` (hooks, settings), outside the sandbox too.
 */
import { randomBytes } from "node:crypto";
import { lstatSync, readlinkSync, renameSync } from "node:fs";
import { type Folder, HeldFolder } from "../files/guard/folder.ts";
import { FileRejection, rejectionOf } from "../files/guard/rejection.ts";
import type { FileKit } from "../files/kit.ts";

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
/** A search stops by itself before it must be stopped. */
const softShare = 0.8;
const anyCase = "**/.[gG][iI][tT]";

/** @throws FileRejection `search_stopped` if the folder has too much in it */
export async function gitEntries(kit: FileKit, folder: Folder, signal: AbortSignal): Promise<readonly GitEntry[]> {
  const { rules } = folder;
  const limitMs = kit.limits.searchTimeMs;
  const { paths, truncated } = await kit.searches.run(
    {
      root: folder instanceof HeldFolder ? { descriptor: folder.descriptor, rules } : { path: folder.self, rules },
      ...{ start: [], shown: "", includeIgnored: true, maxResults: mostEntries, softLimitMs: limitMs * softShare },
      task: { kind: "glob", pattern: anyCase },
    },
    { limitMs, signal },
  );
  if (truncated === "time" || truncated === "results")
    throw new FileRejection("search_stopped", "has too many files, or too many `.git`, to keep each `.git` read-only.");
  return paths.flatMap((path) => entryAt(folder, path.replace(/^\/|\/$/g, "")) ?? []);
}

/**
 * Renames each `.git` that was not there before, and tells which.
 *
 * @returns a sentence for the model, or undefined if there is none
 */
export async function setAside(kit: FileKit, folder: Folder, before: readonly GitEntry[]): Promise<string | undefined> {
  const known = new Set(before.map(({ identity }) => identity));
  try {
    const after = await gitEntries(kit, folder, new AbortController().signal); // also after a call that was cancelled
    const made = after.filter(({ identity }) => !known.has(identity));
    const renamed = made.map(({ path }) => `\`${path}\` is now \`${renamedIn(folder, path)}\``);
    return renamed.length === 0 ? undefined : `Commands cannot make a \`.git\`: ${renamed.join(", ")}.`;
  } catch (error) {
    if (rejectionOf(error) === undefined) throw error;
    return "The command may have made a `.git`: that could not be checked or undone.";
  }
}

/** Returns undefined if it disappeared meanwhile. */
function entryAt(root: Folder, path: string): GitEntry | undefined {
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
function renamedIn(root: Folder, path: string): string {
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
