import { closeSync } from "node:fs";
import { getSystemErrorName } from "node:util";
import { type Beneath, folderHandle, noFollow, onlyHandle, walkBeneath } from "./folder.ts";

/** The same number on every architecture of Linux. */
const openat2Number = 437;
const closeOnExec = 0o2000000;
/** RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH. */
const resolveStrictly = 0x01 | 0x02 | 0x04 | 0x08;
const inCurrentFolder = -100;
const tryAgain = 11;
const notAFolder = 20;

// biome-ignore lint/complexity/useMaxParams: the system call has these parameters
type SystemCall = (number: number, folder: number, path: string, how: Uint8Array, size: number) => number | bigint;

/**
 * Opens in one system call: the kernel keeps the path beneath the folder and off links and mounts. It needs the optional
 * package `koffi`. Returns undefined if that is not installed, or if the kernel or a container's filter does not know the
 * call. Then the walk does the same.
 */
export async function loadOpenat2(): Promise<Beneath | undefined> {
  if (process.platform !== "linux") return undefined;
  try {
    const { default: koffi } = await import("koffi");
    const call: SystemCall = koffi
      .load(null)
      .func("long syscall(long number, int folder, const char *path, void *how, size_t size)");
    const how = howOf(folderHandle, 0);
    const tried = Number(call(openat2Number, inCurrentFolder, ".", how, how.length));
    if (tried < 0) return undefined;
    closeSync(tried);
    return beneathBy(call, () => koffi.errno());
  } catch {
    return undefined; // `koffi` is not installed or cannot be loaded
  }
}

function beneathBy(call: SystemCall, errno: () => number): Beneath {
  const folder = howOf(folderHandle, resolveStrictly);
  const anything = howOf(onlyHandle | noFollow, resolveStrictly);
  return (held, parts, wanted) => {
    const how = wanted === "folder" ? folder : anything;
    const path = parts.join("/");
    // After a rename anywhere, the kernel answers "try again".
    for (let tries = 0; ; tries += 1) {
      const descriptor = Number(call(openat2Number, held, path, how, how.length));
      if (descriptor >= 0) return descriptor;
      const number = errno();
      if (number === notAFolder) return walkBeneath(held, parts, wanted); // it distinguishes a link from a file, and is as safe
      if (number !== tryAgain || tries === 128) throw systemError(number);
    }
  };
}

/** `struct open_how`: flags, mode, resolve; 64 bits each, in the machine's order. */
function howOf(flags: number, resolve: number): Uint8Array {
  return new Uint8Array(new BigUint64Array([BigInt(flags | closeOnExec), 0n, BigInt(resolve)]).buffer);
}

function systemError(number: number): Error {
  const code = getSystemErrorName(-number);
  return Object.assign(new Error(code), { code, syscall: "openat2" });
}
