import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** A folder of a test file's own, gone after its last test, whoever made it and whenever. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "postern-test-"));
  made.push(folder);
  return folder;
}

/** After the last test of a file, and after everything that the file itself does then. */
export function removeOwnFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}
