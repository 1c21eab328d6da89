/**
 * Opens only what is beneath a folder. A held folder is an open descriptor: each step resolves ONE name in a folder that is
 * open, without following a link, so no path can change between a check and a use.
 *
 * Invariant: `openFile` opens a plain file with one name, on the root's file system, beneath the root at that moment. Pipes,
 * devices and sockets are checked through a handle and never opened.
 * Next: openat2.ts (the same in one system call), plain-folder.ts (other systems), ../roots.ts (which folders).
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats, statfsSync } from "node:fs";
import { codeOf } from "@postern/core/system";
import { FileRejection } from "./rejection.ts";

export interface FileRules {
  /** The file system of the root: nothing is reached across a mount. */
  readonly device: number;
  /** Whether files with a second name may be used: stores of package managers have them. */
  readonly hardLinks: boolean;
}

/** A folder that is open. Dispose of it. */
export interface Folder extends Disposable {
  readonly rules: FileRules;
  /** Names this folder, for one system call. */
  readonly self: string;
  /** The path of a name in this folder, for one system call that does not follow links. */
  at(name: string): string;
  /** A new handle of a folder beneath. Without parts, of this folder. */
  descend(parts: readonly string[]): Folder;
  /** A descriptor for reading a plain file beneath; the caller closes it. */
  openFile(parts: readonly string[]): number;
}

/** Opens a handle (O_PATH) beneath a folder. Links on the way are refused; a link at the end is not followed. */
export type Beneath = (folder: number, parts: readonly string[], wanted: "folder" | "anything") => number;

/** Node has no name for it; x86-64 and arm64 have the same number. */
export const onlyHandle = 0o10000000;
export const noFollow: number = constants.O_NOFOLLOW ?? 0; // Windows has none
export const folderHandle: number = onlyHandle | (constants.O_DIRECTORY ?? 0) | noFollow;
const procMagic = 0x9fa0;

/** Whether `/proc/self/fd` exists and belongs to the kernel. Without it the guard is not safe. */
export function canHold(): boolean {
  try {
    return process.platform === "linux" && statfsSync("/proc/self/fd").type === procMagic;
  } catch {
    return false; // no /proc at all
  }
}

export class HeldFolder implements Folder {
  readonly descriptor: number;
  readonly rules: FileRules;
  readonly self: string;
  readonly #beneath: Beneath;

  /** Owns the descriptor from now on. */
  constructor(descriptor: number, rules: FileRules, beneath: Beneath) {
    this.descriptor = descriptor;
    this.rules = rules;
    this.self = `/proc/self/fd/${descriptor}`;
    this.#beneath = beneath;
  }

  at(name: string): string {
    return `${this.self}/${name}`;
  }

  descend(parts: readonly string[]): Folder {
    const descriptor =
      parts.length === 0 ? openSync(`${this.self}/.`, folderHandle) : this.#beneath(this.descriptor, parts, "folder");
    try {
      if (fstatSync(descriptor).dev !== this.rules.device) throw new FileRejection("other_device");
      return new HeldFolder(descriptor, this.rules, this.#beneath);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  openFile(parts: readonly string[]): number {
    const handle = this.#beneath(this.descriptor, parts, "anything");
    try {
      checkPlain(fstatSync(handle), this.rules);
      return openSync(`/proc/self/fd/${handle}`, constants.O_RDONLY | constants.O_NONBLOCK);
    } finally {
      closeSync(handle);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor);
  }
}

/** The walk: one name a step, each in the folder of the step before. */
export function walkBeneath(folder: number, parts: readonly string[], wanted: "folder" | "anything"): number {
  let held = folder;
  for (const [i, part] of parts.entries()) {
    const path = `/proc/self/fd/${held}/${part}`;
    const flags = wanted === "anything" && i === parts.length - 1 ? onlyHandle | noFollow : folderHandle;
    try {
      const next = openSync(path, flags);
      if (held !== folder) closeSync(held);
      held = next;
    } catch (error) {
      const isLink = codeOf(error) === "ENOTDIR" && isLinkAt(path);
      if (held !== folder) closeSync(held);
      throw isLink ? new FileRejection("link") : error;
    }
  }
  return held;
}

/** For a better message: O_DIRECTORY with O_NOFOLLOW reports a link as no folder. */
function isLinkAt(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** @throws FileRejection for anything but a plain file with one name on the root's file system */
export function checkPlain(stats: Stats, { device, hardLinks }: FileRules): void {
  if (stats.isSymbolicLink()) throw new FileRejection("link");
  if (stats.isDirectory()) throw new FileRejection("is_a_folder");
  if (!stats.isFile()) throw new FileRejection("special_file");
  if (stats.dev !== device) throw new FileRejection("other_device");
  if (stats.nlink > 1 && !hardLinks) throw new FileRejection("hard_link");
}
