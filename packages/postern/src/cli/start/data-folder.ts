import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { nearest, RuntimeFault } from "@postern/core";
import { unusableFolder } from "../../server/credentials.ts";

const mostNamed = 3;

/** @throws RuntimeFault `data_folder_unusable` when this user may not look there */
export function exists(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw unusableFolder(folder, error);
  }
}

/**
 * Only `start` makes a data folder. A folder that a command made for a mistyped `--data` would be empty, and the mistake
 * would not be seen.
 *
 * @throws RuntimeFault `data_folder_unusable`
 */
export function requireDataFolder(folder: string): void {
  if (exists(folder)) return;
  throw new RuntimeFault(
    "data_folder_unusable",
    `There is no data folder \`${folder}\`.${nearbyFolders(folder)} \`postern start\` makes a new one.`,
  );
}

/** Suggests the folder with nearly this name, else a few that lie beside it. */
export function nearbyFolders(folder: string): string {
  const beside = foldersIn(dirname(folder)).filter((name) => name !== basename(folder));
  const near = nearest(basename(folder), beside);
  const shown = (near === undefined ? beside.slice(0, mostNamed) : [near]).map(
    (name) => `\`--data ${join(dirname(folder), name)}\``,
  );
  if (near !== undefined) return ` Did you mean ${shown.join()}?`;
  return shown.length === 0 ? "" : ` Beside it lies ${shown.join(", ")}.`;
}

/** A data folder has a token in it. */
function foldersIn(parent: string): readonly string[] {
  try {
    return readdirSync(parent).filter((name) => existsSync(join(parent, name, "operator.token")));
  } catch {
    return []; // it cannot be read, so nothing is suggested
  }
}
