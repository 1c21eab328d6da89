import type { Store } from "../store/store.ts";
import { inclusionPath, leafHash, treeRoot } from "./proofs.ts";

/** Leaves of a complete subtree whose root is remembered; a power of two, so that the subtrees are the tree's own. */
const width = 1024;

/** An entry of a tree: its body, and what to hash it with on the way to the root. */
export interface LoggedEntry {
  readonly body: string;
  readonly leaf: string;
  readonly path: readonly string[];
}

/**
 * Finds the path from an entry to the root over a growing log.
 *
 * The first search reads the whole log. The roots of complete subtrees stay in memory (32 bytes for 1,024 entries), so
 * later ones read only the entry's own subtree, the last one, and what is new.
 */
export class Inclusion {
  readonly #store: Pick<Store, "events">;
  readonly #roots: string[] = [];
  /** One search at a time extends the roots. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(store: Pick<Store, "events">) {
    this.#store = store;
  }

  /** Returns undefined if entries are missing. @param size of the tree, committed */
  async find(seq: number, size: number): Promise<LoggedEntry | undefined> {
    const read = this.#reading.then(() => this.#extend(size));
    this.#reading = read.catch(() => undefined); // the caller gets the error; the next one may work
    await read;
    const subtree = Math.floor(seq / width);
    const bodies = await this.#bodies(subtree * width, Math.min((subtree + 1) * width, size));
    const tops = this.#roots.slice(0, Math.floor(size / width));
    if (size % width > 0) tops.push(treeRoot((await this.#bodies(size - (size % width), size)).map(leafHash)));
    const body = bodies[seq % width];
    if (body === undefined || tops.length < Math.ceil(size / width)) return undefined;
    const leaves = bodies.map(leafHash);
    const path = [...inclusionPath(leaves, seq % width), ...inclusionPath(tops, subtree)];
    return { body, leaf: leafHash(body), path };
  }

  async #extend(size: number): Promise<void> {
    while ((this.#roots.length + 1) * width <= size) {
      const start = this.#roots.length * width;
      const bodies = await this.#bodies(start, start + width);
      if (bodies.length < width) return;
      this.#roots.push(treeRoot(bodies.map(leafHash)));
    }
  }

  async #bodies(start: number, end: number): Promise<string[]> {
    const bodies: string[] = [];
    for await (const { body } of this.#store.events({ after: start - 1, limit: end - start })) bodies.push(body);
    return bodies;
  }
}
