import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "./groups.ts";

const ownFolders = new Set<string>();

/** A temporary folder that is removed when the process ends. Its name has the process id, so a later process removes the folders of killed ones. */
export function temporaryFolder(kind: string): string {
  if (ownFolders.size === 0) process.once("exit", removeOwnFolders);
  const prefix = `postern-${kind}-`;
  sweep(prefix);
  const folder = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  ownFolders.add(folder);
  return folder;
}

export function removeTemporaryFolder(folder: string): void {
  ownFolders.delete(folder);
  rmSync(folder, { recursive: true, force: true });
}

function removeOwnFolders(): void {
  for (const folder of ownFolders) removeTemporaryFolder(folder);
}

/** Removes only folders of this user: another program may use such names too. */
function sweep(prefix: string): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(prefix) ? /^(\d+)-/.exec(name.slice(prefix.length))?.[1] : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    const path = join(tmpdir(), name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true && found.uid === process.getuid?.())
      rmSync(path, { recursive: true, force: true });
  }
}
