import { closeSync, existsSync, fsyncSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { RuntimeFault } from "@postern/core";
import { freeBytes } from "@postern/core/system";

/**
 * Copies what is committed now into `FILE.version-N`, because the upgrade that follows cannot be undone. Its name is
 * returned. SQLite reads the pages: a second descriptor of the file would drop SQLite's lock when it is closed.
 *
 * @throws RuntimeFault `disk_full`, and what SQLite throws; then there is no copy
 */
export function copyBefore(database: DatabaseSync, path: string, version: number): string {
  const name = `${path}.version-${version}`;
  let copy = name;
  for (let i = 2; existsSync(copy); i += 1) copy = `${name}-${i}`;
  const free = freeBytes(path);
  const needed = bytesOf(database);
  if (free !== undefined && free < needed) {
    throw new RuntimeFault(
      "disk_full",
      `\`${path}\` must be upgraded, and is copied before that: the copy needs ${needed} bytes, and ${free} are free. Make room and start again. Nothing was changed.`,
    );
  }
  try {
    closeSync(openSync(copy, "wx", 0o600));
    database.prepare("vacuum into ?").run(copy);
    finish(copy);
    return copy;
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  }
}

/** Pages that are copied before other work gets a turn: 800 KB. */
const pagesATurn = 200;

/**
 * Copies what is committed into a new file, while writes go on: the copy has one moment, at the latest that of its end.
 *
 * @throws RuntimeFault `disk_full`, and what SQLite throws; then there is no copy
 */
export async function copyWhileOpen(database: DatabaseSync, copy: string): Promise<void> {
  const free = freeBytes(copy);
  const needed = bytesOf(database);
  if (free !== undefined && free < needed) {
    throw new RuntimeFault(
      "disk_full",
      `A copy of the store needs ${needed} bytes, and the disk of \`${dirname(copy)}\` has ${free} left. Make room and try again.`,
    );
  }
  try {
    closeSync(openSync(copy, "wx", 0o600));
    await backup(database, copy, { rate: pagesATurn });
    finish(copy);
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  }
}

/** The copy is complete without a write-ahead log, so it is not marked as open, and it is on the disk. */
function finish(copy: string): void {
  {
    using database = new DatabaseSync(copy);
    database.exec("pragma journal_mode=delete; update meta set value = 0 where name = 'open'");
  }
  const file = openSync(copy, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function bytesOf(database: DatabaseSync): number {
  const { page_count: pages } = database.prepare("pragma page_count").get() ?? {};
  const { page_size: size } = database.prepare("pragma page_size").get() ?? {};
  return Number(pages) * Number(size);
}
