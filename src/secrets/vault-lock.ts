import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { RuntimeFault } from "../core/fault.ts";
import { Locks } from "../core/system/locks.ts";
import { makeOwnFolder } from "../core/system/own-folder.ts";

const waitMs = 10_000;
/** Of this process: the lock of the file is the process's own, it would wait for itself. */
const waiting = new Locks();

/**
 * One at a time, of all processes. The lock is SQLite's own lock of an empty database: the system lets go of it when its
 * holder dies, so there is none that is left behind.
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
