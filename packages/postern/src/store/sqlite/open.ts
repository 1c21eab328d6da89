import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf, RuntimeFault } from "@postern/core";
import { codeOf, freeBytes, isDamage, makeOwnFolder, namingFullDisk } from "@postern/core/system";
import { copyBefore } from "./copies.ts";
import { type FileCheck, hasLog, openFiles } from "./open-files.ts";
import { checkOwner, createTables, currentSchema, type Schema, upgradeTables } from "./schema.ts";

export interface OpenDatabase {
  readonly database: DatabaseSync;
  /** The write-ahead log's own descriptor, for syncing it off the event loop. */
  readonly walFd: number;
  readonly lost: FileCheck;
  /** Why writes of an earlier process are missing. Returns undefined if they are all there. */
  readonly lostBefore?: string | undefined;
}

/** Older versions can lose committed pages when the write-ahead log is reset. */
const oldestSqlite = "3.51.3";
/** A log of full size is overwritten in place: its sync never has to write the file's length. */
const walBytes = 8 * 1024 * 1024;

/** @throws RuntimeFault `node_too_old` */
export function checkSqlite(version: string): void {
  const [wanted, have] = [oldestSqlite, version].map((text) => text.split(".").map(Number));
  for (let i = 0; i < 3; i += 1) {
    const difference = (have?.[i] ?? 0) - (wanted?.[i] ?? 0);
    if (difference > 0) return;
    if (difference < 0) {
      throw new RuntimeFault(
        "node_too_old",
        `This Node brings SQLite ${version}; Postern needs ${oldestSqlite} or newer. Install a newer Node.`,
      );
    }
  }
}

/**
 * Opens, locks and checks the file, and makes its tables. The lock is SQLite's own (`locking_mode=exclusive`), which ends
 * with the process. A store of an older version is copied beside itself, then upgraded.
 *
 * @throws RuntimeFault `node_too_old`, `store_locked`, `store_foreign`, `store_newer`, `store_older`, `store_unopenable`, `disk_full`
 */
export function openDatabase(
  location: string,
  log: (problem: string) => void,
  schema: Schema = currentSchema,
): OpenDatabase {
  checkSqlite(process.versions["sqlite"] ?? "0");
  const path = resolve(location);
  let database: DatabaseSync | undefined;
  let isMarked = false;
  try {
    createPrivately(path);
    const hadLog = hasLog(path);
    database = new DatabaseSync(path);
    database.exec("pragma locking_mode=exclusive; pragma temp_store=memory; pragma synchronous=full");
    const version = checkOwner(database, path, schema);
    const mode = database.prepare("pragma journal_mode=wal").get();
    if (mode?.["journal_mode"] !== "wal")
      throw new RuntimeFault("store_unopenable", `\`${path}\` is on a disk that cannot hold a write-ahead log.`);
    database.exec("pragma wal_autocheckpoint=500");
    createTables(database, schema);
    if (version !== undefined && version < schema.version) {
      const copy = upgrade(database, path, version, schema);
      log(
        `The store \`${path}\` was upgraded from version ${version} to ${schema.version}. Before that it was copied to \`${copy}\`.`,
      );
    }
    const lostBefore = hadLog ? undefined : lossOf(database, path);
    // Writing once with full syncs makes the log exist and its name durable; `synchronous=normal` never would.
    database.exec("insert or replace into meta values ('open', 1)");
    isMarked = true;
    syncFolder(dirname(path));
    database.exec("pragma wal_checkpoint(full)"); // puts the mark into the file itself; the log keeps its header
    const walFd = preallocate(`${path}-wal`, log);
    database.exec("pragma synchronous=normal");
    return { database, walFd, lost: openFiles(path), lostBefore };
  } catch (error) {
    if (isMarked) unmark(database);
    database?.close();
    throw faultOf(error, path);
  }
}

/** Returns the name of the copy. If the upgrade fails, the store is as it was, and the copy is removed. */
function upgrade(database: DatabaseSync, path: string, version: number, schema: Schema): string {
  const copy = copyBefore(database, path, version);
  try {
    upgradeTables(database, path, version, schema);
    return copy;
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  }
}

export function closeDatabase({ database, walFd }: Pick<OpenDatabase, "database" | "walFd">): void {
  unmark(database);
  database.close(); // writes the log into the file, syncs both and removes the log
  closeSync(walFd);
}

/** A process that is killed leaves the mark and its log. */
function unmark(database: DatabaseSync | undefined): void {
  try {
    database?.exec("pragma wal_checkpoint(full)"); // then the next write needs no more room
    database?.exec("insert or replace into meta values ('open', 0)");
  } catch {} // the disk does not take writes; then the log stays too, as a rule
}

/** For a file without a log. */
function lossOf(database: DatabaseSync, path: string): string | undefined {
  const isMarked = database.prepare("select value from meta where name = 'open'").get()?.["value"] === 1;
  if (!isMarked) return undefined;
  return `The last process that had \`${path}\` open was killed, and its write-ahead log \`${path}-wal\` is missing: calls that it recorded may be gone. Restore both files from one moment.`;
}

/** Makes the file readable for its owner only. An existing file is not opened: closing a descriptor of it would drop SQLite's locks. */
function createPrivately(path: string): void {
  makeOwnFolder(dirname(path));
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
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

/**
 * SQLite stops reading at zeros after a crash, because they are not a valid frame. As much room as the zeros take stays
 * free for other files; without it, the log grows as it is written.
 */
function preallocate(path: string, log: (problem: string) => void): number {
  const fd = openSync(path, "r+");
  const { size } = fstatSync(fd);
  if (size >= walBytes) return fd;
  const free = freeBytes(path);
  try {
    if (free !== undefined && free < 2 * walBytes) throw new Error("it is nearly full");
    const zeros = Buffer.alloc(1024 * 1024);
    for (let at = size; at < walBytes; ) at += writeSync(fd, zeros, 0, Math.min(zeros.length, walBytes - at), at);
  } catch (error) {
    ftruncateSync(fd, size);
    log(
      `The disk of \`${path}\` has ${free ?? "few"} bytes left (${messageOf(error)}), so the write-ahead log gets no room beforehand. It grows as it is written. Make room soon.`,
    );
  }
  return fd;
}

/** The fault of an error that a file at this path gives while it is opened. */
export function faultOf(thrown: unknown, path: string): RuntimeFault {
  const error = namingFullDisk(thrown, path);
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
  if (isDamage(error)) {
    const message = `\`${path}\` is damaged (${messageOf(error)}). Restore it from a copy, or name another file.`;
    return new RuntimeFault("store_foreign", message, { cause: error });
  }
  const sentence = `\`${path}\` cannot be opened: ${messageOf(error)}. Its folder must be writable and have room.`;
  return new RuntimeFault("store_unopenable", sentence, { cause: error });
}
