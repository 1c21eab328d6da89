import { closeSync, openSync, readSync, statSync } from "node:fs";

/** Says why what is written now would be gone after a restart. Returns undefined while the path leads to the open files. */
export type FileCheck = () => string | undefined;

/** Remembers which files are open. It compares device and inode, so a copy in the place of a file is another file. */
export function openFiles(path: string): FileCheck {
  const opened = [path, `${path}-wal`].map((file) => ({ file, stat: statSync(file, { bigint: true }) }));
  return () => {
    for (const { file, stat } of opened) {
      const now = found(file);
      if (now === undefined) continue;
      if (now === "missing") return `\`${file}\` was removed or renamed`;
      if (now.ino !== stat.ino || now.dev !== stat.dev) return `\`${file}\` was replaced by another file`;
    }
    return undefined;
  };
}

/** Returns undefined if the system does not say: that proves no loss. */
function found(file: string): { readonly ino: bigint; readonly dev: bigint } | "missing" | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false }) ?? "missing";
  } catch {
    return undefined;
  }
}

/** The first bytes of a write-ahead log; the last bit is the byte order of its sums. */
const walMagic = 0x377f0682;

/** Whether the database has a write-ahead log with a header. Only a log that was written has one. */
export function hasLog(path: string): boolean {
  const head = Buffer.alloc(4);
  try {
    const fd = openSync(`${path}-wal`, "r");
    try {
      readSync(fd, head, 0, head.length, 0);
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
  return (head.readUInt32BE() & ~1) === walMagic;
}
