import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import {
  type Beneath,
  canHold,
  checkPlain,
  type FileRules,
  type Folder,
  folderHandle,
  HeldFolder,
  noFollow,
} from "./folder.ts";
import { FileRejection } from "./rejection.ts";

/** macOS 11 and later follow no link anywhere in the path. Other systems ignore the bit. */
const noFollowAny = process.platform === "darwin" ? 0x20000000 : 0;

/**
 * The same checks by path, for systems without `/proc/self/fd`. They are not safe against a process that swaps folders for
 * links meanwhile, so they need the option `notRaceSafe`.
 */
export class PlainFolder implements Folder {
  readonly rules: FileRules;
  readonly self: string;

  constructor(path: string, rules: FileRules) {
    this.self = path;
    this.rules = rules;
  }

  at(name: string): string {
    return join(this.self, name);
  }

  descend(parts: readonly string[]): Folder {
    let path = this.self;
    for (const part of parts) {
      path = join(path, part);
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) throw new FileRejection("link");
      if (!stats.isDirectory()) throw new FileRejection("not_a_folder");
      if (stats.dev !== this.rules.device) throw new FileRejection("other_device");
    }
    return new PlainFolder(path, this.rules);
  }

  openFile(parts: readonly string[]): number {
    using parent = this.descend(parts.slice(0, -1));
    const path = parent.at(parts.at(-1) ?? ".");
    checkPlain(lstatSync(path), this.rules);
    const descriptor = openSync(path, constants.O_RDONLY | noFollow | noFollowAny | (constants.O_NONBLOCK ?? 0));
    try {
      checkPlain(fstatSync(descriptor), this.rules);
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  [Symbol.dispose](): void {
    // It holds nothing but its path.
  }
}

export interface RootOptions {
  readonly hardLinks: boolean;
  readonly beneath: Beneath;
  /** Refuses another folder that was put in its place. */
  readonly check?: (stats: Stats) => void;
}

/** Opens a root: held where the system allows it, else by its path. */
export function openRoot(path: string, { hardLinks, beneath, check }: RootOptions): Folder {
  if (!canHold()) {
    const stats = statSync(path);
    check?.(stats);
    return new PlainFolder(path, { device: stats.dev, hardLinks });
  }
  const descriptor = openSync(path, folderHandle);
  try {
    const stats = fstatSync(descriptor);
    check?.(stats);
    return new HeldFolder(descriptor, { device: stats.dev, hardLinks }, beneath);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}
