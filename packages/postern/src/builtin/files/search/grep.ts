import { isAscii, isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { markedEncoding, textFound } from "../encoding.ts";
import { checkPlain, noFollow } from "../guard/folder.ts";
import { rejectionOf } from "../guard/rejection.ts";
import type { GrepMatch, GrepTask } from "./job.ts";
import { type Finder, finderOf, pathMatcher } from "./pattern.ts";
import type { TreeEntry } from "./tree.ts";

/** A larger file is only counted. */
const maxSearchedBytes = 32 * 1024 * 1024;
const maxLineLength = 300;
const binaryHeadBytes = 8_192;
/**
 * Opened without a handle first, because the folder listed a plain file. If another process puts a pipe in its place,
 * opening does not wait, and the descriptor is checked before a byte is read.
 */
const flags = constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0);

/** Searches one file after another, line by line. */
export class Grep {
  readonly matches: GrepMatch[] = [];
  /** Skipped files by reason. */
  readonly skipped: Map<string, number> = new Map();
  files = 0;
  readonly #finder: Finder;
  /** Whether the path from where the search began is wanted. */
  readonly wants: (path: string) => boolean;
  readonly #most: number;
  #buffer: Buffer = Buffer.allocUnsafeSlow(1024 * 1024);

  /** @throws FileRejection for an unusable pattern */
  constructor(task: GrepTask, most: number) {
    this.#most = most;
    this.#finder = finderOf(task);
    this.wants = task.files === undefined ? () => true : pathMatcher(task.files);
  }

  /** @param shown the path in the answer */
  search(met: Pick<TreeEntry, "folder" | "name">, shown: string): void {
    const reason = this.#searched(met, shown);
    if (reason !== undefined) this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + 1);
  }

  /** Returns why the file was skipped, or undefined. */
  #searched({ folder, name }: Pick<TreeEntry, "folder" | "name">, shown: string): string | undefined {
    try {
      const descriptor = openSync(folder.at(name), flags);
      try {
        const stats = fstatSync(descriptor);
        checkPlain(stats, folder.rules);
        if (stats.size > maxSearchedBytes) return "too_large";
        return this.#look(this.#read(descriptor, stats.size), shown);
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      const rejection = rejectionOf(error);
      if (rejection === undefined) throw error;
      return rejection.reason;
    }
  }

  get isFull(): boolean {
    return this.matches.length >= this.#most;
  }

  #read(descriptor: number, size: number): Buffer {
    if (size >= this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(size + 1024 * 1024);
    let filled = 0;
    for (;;) {
      const read = readSync(descriptor, this.#buffer, filled, this.#buffer.length - filled, filled);
      filled += read;
      if (read === 0 || filled >= size) return this.#buffer.subarray(0, filled);
    }
  }

  #look(bytes: Buffer, shown: string): string | undefined {
    this.files += 1;
    const read = textToSearch(bytes);
    if (read === undefined) return "binary";
    const text = read.includes("\r") ? read.replaceAll("\r\n", "\n") : read;
    if (!this.#finder.mayHold(text)) return undefined;
    let line = 0;
    for (const content of text.split("\n")) {
      line += 1;
      if (!this.#finder.holds(content)) continue;
      this.matches.push({ path: shown, line, text: shortened(content) });
      if (this.isFull) break;
    }
    return undefined;
  }
}

/** A text that is neither UTF-8 nor marked UTF-16 is taken for windows-1252, so that its letters are found. */
function textToSearch(bytes: Buffer): string | undefined {
  const isPlain = !bytes.subarray(0, binaryHeadBytes).includes(0);
  if (!isPlain) return textFound(bytes);
  if (isAscii(bytes)) return bytes.toString("latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : textFound(bytes, markedEncoding(bytes) ?? "windows-1252");
}

function shortened(line: string): string {
  return line.length <= maxLineLength ? line : `${line.slice(0, maxLineLength).toWellFormed()}…`;
}
