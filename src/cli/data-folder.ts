import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { RuntimeFault } from "../core/fault.ts";
import { nearest } from "../core/nearest.ts";
import { passingFolder, removePassing } from "../core/system/passing-folder.ts";
import { unusableFolder } from "../server/credentials.ts";

const mostNamed = 3;

/** @throws RuntimeFault `data_folder_unusable` when this user may not even look */
export function exists(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw unusableFolder(folder, error);
  }
}

/**
 * Only `start` makes a data folder. What a command made for a mistyped `--data` would answer every question with
 * nothing, and nobody would see why.
 *
 * @throws RuntimeFault `data_folder_missing`, `data_folder_unusable`
 */
export function requireDataFolder(folder: string): void {
  if (exists(folder)) return;
  throw new RuntimeFault(
    "data_folder_missing",
    `There is no data folder \`${folder}\`.${nearbyFolders(folder)} \`postern start\` makes a new one.`,
  );
}

/**
 * For what looks at the configuration alone, on a machine where nothing was ever started: what must be opened to look is
 * in a folder that is gone afterwards.
 */
export function booksToLook(folder: string): Disposable & { readonly folder: string } {
  if (exists(folder)) return { folder, [Symbol.dispose]: () => {} };
  const passing = passingFolder("look");
  return { folder: passing, [Symbol.dispose]: () => removePassing(passing) };
}

/** What could have been meant: the one with nearly this name, else the few that lie beside it. */
export function nearbyFolders(folder: string): string {
  const beside = foldersIn(dirname(folder)).filter((name) => name !== basename(folder));
  const near = nearest(basename(folder), beside);
  const shown = (near === undefined ? beside.slice(0, mostNamed) : [near]).map(
    (name) => `\`--data ${join(dirname(folder), name)}\``,
  );
  if (near !== undefined) return ` Did you mean ${shown.join()}?`;
  return shown.length === 0 ? "" : ` Beside it lies ${shown.join(", ")}.`;
}

/** Data folders alone: what has a token of ours in it. */
function foldersIn(parent: string): readonly string[] {
  try {
    return readdirSync(parent).filter((name) => existsSync(join(parent, name, "operator.token")));
  } catch {
    return []; // not there, or not ours to read: then nothing is guessed
  }
}
