import { isAscii } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { checkPlain, noFollow } from "../guard/folder.ts";
import { rejectionOf } from "../guard/rejection.ts";
import type { GrepMatch, GrepTask } from "./job.ts";
import { type Finder, finderOf, pathMatcher } from "./pattern.ts";
import type { Met } from "./tree.ts";

/** Larger files are counted, not searched. */
const maxSearchedBytes = 32 * 1024 * 1024;
const maxLineLength = 300;
const binaryHeadBytes = 8_192;
/**
 * Opened at once, without a handle first: the folder said it is a plain file. Should somebody put a pipe in its place
 * meanwhile, opening it does not wait; it is judged by its descriptor before a byte is read.
 */
const flags = constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0);

/** Looks through one file after another, line by line. */
export class Grep {
  readonly matches: GrepMatch[] = [];
  /** Files that were passed over, by why. */
  readonly skipped: Map<string, number> = new Map();
  files = 0;
  readonly #task: GrepTask;
  readonly #finder: Finder;
  readonly #wants: (path: string) => boolean;
  readonly #most: number;
  #buffer: Buffer = Buffer.allocUnsafeSlow(1024 * 1024);

  /** @throws Rejection for a pattern that cannot be used */
  constructor(task: GrepTask, most: number) {
    this.#task = task;
    this.#most = most;
    this.#finder = finderOf(task);
    this.#wants = task.files === undefined ? () => true : pathMatcher(task.files);
  }

  /** @param shown the path as the answer spells it; @param below from where the search began */
  search(met: Met, shown: string, below: string): void {
    const { number, of } = this.#task.share;
    if (shareOf(met.name, of) === number && this.#wants(below)) this.#take(met, shown);
  }

  /** The one file that was asked for. */
  searchOnly(met: Met, shown: string): void {
    if (this.#task.share.number === 0) this.#take(met, shown);
  }

  #take(met: Met, shown: string): void {
    const passed = this.#searched(met, shown);
    if (passed !== undefined) this.skipped.set(passed, (this.skipped.get(passed) ?? 0) + 1);
  }

  /** Why it was passed over; undefined: it was not. */
  #searched({ folder, name }: Met, shown: string): string | undefined {
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
    if (bytes.subarray(0, binaryHeadBytes).includes(0)) return "binary";
    const read = bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
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

/** Which of so many threads searches a file: by its name alone, so that they need not speak with each other. */
function shareOf(name: string, threads: number): number {
  if (threads === 1) return 0;
  let hash = name.length;
  for (let at = Math.max(0, name.length - 8); at < name.length; at += 1)
    hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0;
  return (hash >>> 0) % threads;
}

function shortened(line: string): string {
  return line.length <= maxLineLength ? line : `${line.slice(0, maxLineLength).toWellFormed()}…`;
}
