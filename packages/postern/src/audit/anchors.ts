import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { counted, isJsonObject, messageOf } from "@postern/core";
import { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import { AnchorFile, sizeOf } from "./anchor-file.ts";
import { checkpointId } from "./export.ts";
import { openCheckpoint } from "./note.ts";
import { trustedKey } from "./verify.ts";

export interface AnchorsOptions {
  readonly store: Pick<Store, "commit" | "documents">;
  readonly path: string;
  /** C2SP verifier key of the log. */
  readonly publicKey: string;
  /** Other processes, each with a file of its own, make checkpoints too. */
  readonly isShared: boolean;
  readonly log: (problem: string) => void;
}

/** How the file is. */
interface AnchorState {
  readonly mark: number;
  readonly isEmpty: boolean;
  /** Checkpoints that were in it. */
  readonly removed: number;
  /** Checkpoints that were never in it. */
  readonly waiting: number;
  readonly all: number;
}

/**
 * Writes each checkpoint of the store into the anchor file too.
 *
 * The store has a mark: checkpoints up to this size were on the disk in the file. A checkpoint up to the mark that is not
 * in the file was removed from it. One beyond the mark may be missing because of a crash or a full disk; it is written
 * again from the store.
 *
 * If the log is shared, each process writes the checkpoints that it makes into a file of its own, and each file has a mark:
 * how many checkpoints were in it. Those of several processes are not made in the order of their sizes.
 */
export class Anchors {
  readonly #options: AnchorsOptions;
  readonly #file: AnchorFile;
  readonly #marks: Collection<number>;
  readonly #markId: string;
  /** One writing after the other: else a checkpoint that is made at the start is written twice. */
  #writing: Promise<unknown> = Promise.resolve();
  #last: string | undefined;

  constructor(options: AnchorsOptions) {
    this.#options = options;
    this.#file = new AnchorFile(options.path);
    const { store, path, isShared } = options;
    this.#markId = isShared ? `file ${placeOf(path)}` : "file";
    this.#marks = new Collection({ store, kind: "anchored", read: (body) => (typeof body === "number" ? body : 0) });
  }

  /** @throws what reading the file throws */
  notes(): Promise<readonly string[]> {
    return this.#file.notes();
  }

  /** Writes what an earlier process could not write. An unsigned checkpoint is left out: `verify` finds it in the store. */
  complete(): Promise<void> {
    return this.#next(() => this.#complete());
  }

  /**
   * Resolves when the file has the notes, or when the log has the problem; then the next call writes them.
   *
   * @param upTo the size of the last checkpoint in the store
   */
  keep(notes: readonly string[], upTo: number): Promise<void> {
    return this.#next(() => this.#keep(notes, upTo));
  }

  #next(write: () => Promise<void>): Promise<void> {
    const written = this.#writing.then(write);
    this.#writing = written.catch(() => undefined); // the caller gets the error
    return written;
  }

  async #complete(): Promise<void> {
    if (this.#options.isShared) {
      const { length } = await this.#file.notes();
      return this.#mark((mark) => Math.max(mark, length)); // a crash may have come before the mark was set
    }
    const { sizes, missing, mark, isEmpty } = await this.#compared();
    const notes: string[] = [];
    const isLastLine = (size: number): boolean => size === sizes.at(-1) && !isEmpty; // a power cut can tear it
    for (const size of missing.filter((one) => one > mark || isLastLine(one))) {
      const note = await this.#noteOver(size);
      if (note !== undefined) notes.push(note);
    }
    await this.#keep(notes, Math.max(mark, ...sizes.slice(-1)));
  }

  async #keep(notes: readonly string[], upTo: number): Promise<void> {
    const { log } = this.#options;
    const others = notes.filter((note) => note !== this.#last);
    let written: number;
    try {
      written = await this.#file.append(others);
      this.#last = others.at(-1) ?? this.#last;
    } catch (error) {
      log(`The anchor file could not be written: ${messageOf(error)}`);
      return;
    }
    if (this.#options.isShared) await this.#mark((mark) => mark + written);
    else await this.#mark((mark) => Math.max(mark, upTo));
  }

  /** If it cannot be set, it stays behind: that these notes were in the file is not known until the next one. */
  async #mark(next: (mark: number) => number): Promise<void> {
    const marked = this.#marks.change(this.#markId, (mark = 0) => {
      const item = next(mark);
      return item === mark ? undefined : { item, durability: "queued" };
    });
    await marked.catch(() => undefined);
  }

  /** Which checkpoints are not in the file, and why. */
  async problem(): Promise<string | undefined> {
    const { isEmpty, removed, waiting, all } = await (this.#options.isShared ? this.#counted() : this.#compared());
    const { path } = this.#options;
    if (removed > 0) {
      const what = isEmpty ? "is missing, empty or unreadable" : "was shortened or changed";
      return `\`${path}\` ${what}: ${removed} of ${all} checkpoints are not in it. Restore it from a copy, and verify against a note kept elsewhere.`;
    }
    if (waiting === 0) return undefined;
    return `\`${path}\` cannot be written: ${counted(waiting, "checkpoint")} of ${all} could not be added to it yet. Make it writable.`;
  }

  /** Of a file with all checkpoints of the store. */
  async #compared(): Promise<AnchorState & { readonly sizes: readonly number[]; readonly missing: readonly number[] }> {
    const anchored = new Set((await this.#file.notes()).map(sizeOf));
    const sizes = (await this.#options.store.documents.list("checkpoint", "")).map(Number);
    const missing = sizes.filter((size) => !anchored.has(size));
    const mark = await this.#marked();
    const removed = missing.filter((size) => size <= mark).length;
    return {
      ...{ sizes, missing, mark, removed, waiting: missing.length - removed },
      ...{ isEmpty: anchored.size === 0, all: sizes.length },
    };
  }

  /** Of a file with the checkpoints of one process. */
  async #counted(): Promise<AnchorState> {
    const { length } = await this.#file.notes();
    const mark = await this.#marked();
    const { waiting } = this.#file;
    return { mark, waiting, isEmpty: length === 0, removed: Math.max(0, mark - length), all: mark + waiting };
  }

  async #marked(): Promise<number> {
    return (await this.#marks.get(this.#markId)) ?? 0;
  }

  async #noteOver(size: number): Promise<string | undefined> {
    const { store, publicKey } = this.#options;
    const body = (await store.documents.get("checkpoint", checkpointId(size)))?.body;
    const note = isJsonObject(body) ? body["note"] : undefined;
    if (typeof note !== "string") return undefined;
    return openCheckpoint(note, trustedKey(publicKey))?.size === size ? note : undefined;
  }
}

/** Names a file among those of all machines, also after a restart. */
function placeOf(path: string): string {
  return createHash("sha256")
    .update(`${hostname()}\n${resolve(path)}`)
    .digest("hex")
    .slice(0, 16);
}
