import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A folder of a test file's own, gone after its last test. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "postern-test-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  return folder;
}
