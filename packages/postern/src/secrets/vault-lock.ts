import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { RuntimeFault } from "@postern/core";
import { Locks, makeOwnFolder } from "@postern/core/system";

const waitMs = 10_000;
/** Within this process: the file's lock belongs to the process, so it would not wait for itself. */
const waiting = new Locks();

/**
 * Runs one at a time in all processes. The lock is SQLite's lock of an empty database, which the system releases when
 * its holder dies.
 *
 * @throws RuntimeFault `secrets_busy`
 */
export function withLock<T>(path: string, body: () => Promise<T>): Promise<T> {
  return waiting.with([path], () => locked(path, body));
}

async function locked<T>(path: string, body: () => Promise<T>): Promise<T> {
  makeOwnFolder(dirname(path));
  const lock = new DatabaseSync(path, { timeout: waitMs });
  try {
    try {
      lock.exec("BEGIN EXCLUSIVE");
    } catch (cause) {
      const message = `Another process has been changing the secrets for ${waitMs / 1000} s (\`${path}\`); try again when it has ended.`;
      throw new RuntimeFault("secrets_busy", message, { cause });
    }
    return await body();
  } finally {
    lock.close();
  }
}
