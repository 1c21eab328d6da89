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
  readonly log: (problem: string) => void;
}

/** The mark is one document. */
const markId = "file";

/**
 * Writes each checkpoint of the store into the anchor file too.
 *
 * The store has a mark: checkpoints up to this size were on the disk in the file. A checkpoint up to the mark that is not
 * in the file was removed from it. One beyond the mark may be missing because of a crash or a full disk; it is written
 * again from the store.
 */
export class Anchors {
  readonly #options: AnchorsOptions;
  readonly #file: AnchorFile;
  readonly #marks: Collection<number>;

  constructor(options: AnchorsOptions) {
    this.#options = options;
    this.#file = new AnchorFile(options.path);
    const { store } = options;
    this.#marks = new Collection({ store, kind: "anchored", read: (body) => (typeof body === "number" ? body : 0) });
  }

  /** @throws what reading the file throws */
  notes(): Promise<readonly string[]> {
    return this.#file.notes();
  }

  /** Writes what an earlier process could not write. An unsigned checkpoint is left out: `verify` finds it in the store. */
  async complete(): Promise<void> {
    const { sizes, missing, mark, isEmpty } = await this.#compared();
    const notes: string[] = [];
    const isLastLine = (size: number): boolean => size === sizes.at(-1) && !isEmpty; // a power cut can tear it
    for (const size of missing.filter((one) => one > mark || isLastLine(one))) {
      const note = await this.#noteOver(size);
      if (note !== undefined) notes.push(note);
    }
    await this.keep(notes, Math.max(mark, ...sizes.slice(-1)));
  }

  /**
   * Resolves when the file has the notes, or when the log has the problem; then the next call writes them.
   *
   * @param upTo the size of the last checkpoint in the store
   */
  async keep(notes: readonly string[], upTo: number): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#file.append(notes);
    } catch (error) {
      log(`The anchor file could not be written: ${messageOf(error)}`);
      return;
    }
    const marked = this.#marks.change(markId, (mark = 0) =>
      mark < upTo ? { item: upTo, durability: "queued" } : undefined,
    );
    await marked.catch(() => undefined); // the mark stays behind: that these notes were in the file is not known until the next one
  }

  /** Which checkpoints are not in the file, and why. */
  async problem(): Promise<string | undefined> {
    const { sizes, missing, mark, isEmpty } = await this.#compared();
    const removed = missing.filter((size) => size <= mark).length;
    const { path } = this.#options;
    if (removed > 0) {
      const what = isEmpty ? "is missing, empty or unreadable" : "was shortened or changed";
      return `\`${path}\` ${what}: ${removed} of ${sizes.length} checkpoints are not in it. Restore it from a copy, and verify against a note kept elsewhere.`;
    }
    if (missing.length === 0) return undefined;
    return `\`${path}\` cannot be written: ${counted(missing.length, "checkpoint")} of ${sizes.length} could not be added to it yet. Make it writable.`;
  }

  async #compared(): Promise<{
    readonly sizes: readonly number[];
    readonly missing: readonly number[];
    readonly mark: number;
    readonly isEmpty: boolean;
  }> {
    const anchored = new Set((await this.#file.notes()).map(sizeOf));
    const sizes = (await this.#options.store.documents.list("checkpoint", "")).map(Number);
    const missing = sizes.filter((size) => !anchored.has(size));
    return { sizes, missing, mark: (await this.#marks.get(markId)) ?? 0, isEmpty: anchored.size === 0 };
  }

  async #noteOver(size: number): Promise<string | undefined> {
    const { store, publicKey } = this.#options;
    const body = (await store.documents.get("checkpoint", checkpointId(size)))?.body;
    const note = isJsonObject(body) ? body["note"] : undefined;
    if (typeof note !== "string") return undefined;
    return openCheckpoint(note, trustedKey(publicKey))?.size === size ? note : undefined;
  }
}
