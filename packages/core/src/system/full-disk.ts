import { statfsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { RuntimeFault } from "../fault.ts";
import { codeOf } from "./error-code.ts";

/** `SQLITE_FULL`. */
const sqliteFull = 13;

/** Returns a fault that names the full disk. Returns any other error as it is. */
export function namingFullDisk(error: unknown, path: string): unknown {
  const isFull = ["ENOSPC", "EDQUOT"].includes(codeOf(error)) || isSqliteFull(error);
  if (!isFull) return error;
  const message = `The disk of \`${resolve(path)}\` is full (${freeBytes(path) ?? 0} bytes are free). Make room on it and try again.`;
  return new RuntimeFault("disk_full", message, { cause: error });
}

/** Bytes that this user may still write on the disk of the path, which need not exist. Returns undefined if the system does not say. */
export function freeBytes(path: string): number | undefined {
  for (let at = resolve(path); ; at = dirname(at)) {
    try {
      const { bavail, bsize } = statfsSync(at);
      return bavail * bsize;
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || at === dirname(at)) return undefined;
    }
  }
}

function isSqliteFull(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === sqliteFull;
}
