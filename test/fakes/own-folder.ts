import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** Makes a folder that is removed after the last test of the file. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "postern-test-"));
  made.push(folder);
  return folder;
}

/** Removes the folders after the file's own cleanup. */
export function removeOwnFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}
