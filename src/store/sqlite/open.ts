import { closeSync, fstatSync, fsyncSync, openSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf, RuntimeFault } from "../../core/fault.ts";
import { makeOwnFolder } from "../../core/system/own-folder.ts";
import { checkOwner, createTables } from "./schema.ts";

export interface OpenDatabase {
  readonly database: DatabaseSync;
  /** The write-ahead log's own descriptor, for syncing it off the event loop. */
  readonly walFd: number;
}

/** Older versions can lose committed pages when the write-ahead log is reset. */
const oldestSqlite = "3.51.3";
/** A log of full size is overwritten in place: its sync never has to write the file's length. */
const walBytes = 8 * 1024 * 1024;

/** @throws RuntimeFault `sqlite_too_old` */
export function checkSqlite(version: string): void {
  const [wanted, have] = [oldestSqlite, version].map((text) => text.split(".").map(Number));
  for (let i = 0; i < 3; i += 1) {
    const difference = (have?.[i] ?? 0) - (wanted?.[i] ?? 0);
    if (difference > 0) return;
    if (difference < 0) {
      throw new RuntimeFault(
        "sqlite_too_old",
        `This Node brings SQLite ${version}; Postern needs ${oldestSqlite} or newer. Install a newer Node.`,
      );
    }
  }
}

/**
 * Opens, locks and checks the file, and makes its tables. The lock is SQLite's own (`locking_mode=exclusive`), which ends
 * with the process.
 *
 * @throws RuntimeFault `sqlite_too_old`, `store_locked`, `store_foreign`, `store_newer`, `store_older`, `store_unopenable`
 */
export function openDatabase(location: string, log: (problem: string) => void): OpenDatabase {
  checkSqlite(process.versions["sqlite"] ?? "0");
  const path = resolve(location);
  let database: DatabaseSync | undefined;
  try {
    createPrivately(path);
    database = new DatabaseSync(path);
    database.exec("pragma locking_mode=exclusive; pragma temp_store=memory; pragma synchronous=full");
    checkOwner(database, path);
    const mode = database.prepare("pragma journal_mode=wal").get();
    if (mode?.["journal_mode"] !== "wal")
      throw new RuntimeFault("store_unopenable", `\`${path}\` is on a disk that cannot hold a write-ahead log.`);
    database.exec("pragma wal_autocheckpoint=500");
    createTables(database);
    // Writing once with full syncs makes the log exist and its name durable; `synchronous=normal` never would.
    database.exec("insert into meta values ('opened', 1) on conflict (name) do update set value = value + 1");
    syncFolder(dirname(path));
    const walFd = preallocate(`${path}-wal`, log);
    database.exec("pragma synchronous=normal");
    return { database, walFd };
  } catch (error) {
    database?.close();
    throw faultOf(error, path);
  }
}

/** Makes the file readable for its owner only. An existing file is not opened: closing a descriptor of it would drop SQLite's locks. */
function createPrivately(path: string): void {
  makeOwnFolder(dirname(path));
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** SQLite stops reading at zeros after a crash, because they are not a valid frame. */
function preallocate(path: string, log: (problem: string) => void): number {
  const fd = openSync(path, "r+");
  try {
    const zeros = Buffer.alloc(1024 * 1024);
    for (let at = fstatSync(fd).size; at < walBytes; )
      at += writeSync(fd, zeros, 0, Math.min(zeros.length, walBytes - at), at);
  } catch (error) {
    log(`No room for the write-ahead log beforehand (${messageOf(error)}); it grows as it is written.`);
  }
  return fd;
}

function faultOf(error: unknown, path: string): RuntimeFault {
  if (error instanceof RuntimeFault) return error;
  // The low byte is SQLite's primary result code.
  const code =
    error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : 0;
  if (code === 5 || code === 6) {
    return new RuntimeFault(
      "store_locked",
      `\`${path}\` is in use: another Postern is running on it. Stop that one, or name another file.`,
      { cause: error },
    );
  }
  if (code === 26) {
    return new RuntimeFault("store_foreign", `\`${path}\` is not a database; name another file.`, {
      cause: error,
    });
  }
  const sentence = `\`${path}\` cannot be opened: ${messageOf(error)}. Its folder must be writable and have room.`;
  return new RuntimeFault("store_unopenable", sentence, { cause: error });
}
