/**
 * Proofs about an RFC 6962 tree: that an entry is in it, and that a later tree only grew out of an earlier one.
 * All digests are 64 hex digits, `leaves` the leaf hashes in order. Checking needs no log, only the numbers in a checkpoint.
 */
import { hash } from "node:crypto";
import { erasedLeaf } from "../store/erasing.ts";

/**
 * SHA-256 over 0x00 and the entry's body, as 64 hex digits. A proof begins with it. Of an erased entry the store has only
 * this digest: `#erased <digest>`.
 *
 * @public
 */
export function leafHash(body: string): string {
  const kept = erasedLeaf(body);
  if (kept !== undefined) return kept;
  if (body.length * 3 >= leaf.length) return hash("sha256", `\0${body}`, "hex");
  return hash("sha256", leaf.subarray(0, 1 + leaf.write(body, 1)), "hex"); // faster than joining texts
}

/** The byte 0, then an entry's body. */
const leaf = Buffer.alloc(16 * 1024);

/**
 * `runtime.audit.prove` returns all of it; `index` is the entry's `seq`.
 *
 * @public
 */
export interface InclusionProof {
  readonly leaf: string;
  readonly index: number;
  readonly size: number;
  readonly root: string;
  readonly path: readonly string[];
}

/**
 * Proves that the log of `size` entries began with the `end` entries under `endRoot`.
 *
 * @public
 */
export interface ConsistencyProof {
  readonly end: number;
  readonly size: number;
  /** Root over the first `end` entries. */
  readonly endRoot: string;
  readonly root: string;
  readonly path: readonly string[];
}

/** The same for the tree over entries `start` to `end`, a complete part of the whole one. */
export interface PartProof extends ConsistencyProof {
  readonly start: number;
}

/** RFC 6962 2.1.1: what to hash the leaf with on the way to the root, from the leaf upwards. */
export function inclusionPath(leaves: readonly string[], index: number): readonly string[] {
  if (!(Number.isSafeInteger(index) && index >= 0 && index < leaves.length)) {
    throw new RangeError(`Entry ${index} is not in a tree of ${leaves.length}.`);
  }
  if (leaves.length === 1) return [];
  const split = splitOf(leaves.length);
  const left = leaves.slice(0, split);
  const right = leaves.slice(split);
  return index < split
    ? [...inclusionPath(left, index), treeRoot(right)]
    : [...inclusionPath(right, index - split), treeRoot(left)];
}

/**
 * RFC 6962 2.1.2: proves that the tree over all leaves grew out of the one over the first `size`. It is made from an
 * exported log and needs only two checkpoints to be checked.
 *
 * @public
 */
export function consistencyPath(leaves: readonly string[], size: number): readonly string[] {
  if (!(Number.isSafeInteger(size) && size > 0 && size <= leaves.length)) {
    throw new RangeError(`A tree of ${leaves.length} did not grow out of one of ${size}.`);
  }
  return subproof(leaves, size, true);
}

/**
 * Whether the leaf is the `index`th of the tree under `root`, which a checkpoint signs. The caller checks that the leaf
 * belongs to its entry: `leafHash(body) === leaf`.
 *
 * @example
 * const proof = await runtime.audit.prove(7);
 * const isThere = proof !== undefined && leafHash(proof.body) === proof.leaf && verifyInclusion({ ...proof, index: 7 });
 *
 * @public
 */
export function verifyInclusion({ leaf, index, size, root, path }: InclusionProof): boolean {
  if (!isPlace(index) || !isPlace(size) || index >= size) return false;
  if (![leaf, ...path].every(isDigest)) return false;
  let reached = leaf;
  let place = index;
  let last = size - 1;
  for (const sibling of path) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      reached = nodeHash(sibling, reached);
      while (place % 2 === 0 && place > 0) [place, last] = [half(place), half(last)];
    } else {
      reached = nodeHash(reached, sibling);
    }
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && reached === root;
}

/**
 * Whether the log of `size` entries grew out of the one of `end` entries: between the two checkpoints nothing was changed,
 * removed or cut off. Returns false for an empty log.
 *
 * @public
 */
export function verifyConsistency(proof: ConsistencyProof): boolean {
  return proof.end > 0 && verifyPart({ ...proof, start: 0 });
}

/** RFC 9162 2.1.4.2, for any part as in draft-ietf-plants-merkle-tree-certs 4.4. */
export function verifyPart({ start, end, size, endRoot, root, path }: PartProof): boolean {
  if (!isPlace(end) || !isPlace(size) || !isPart(start, end) || end > size) return false;
  if (start === end) return path.length === 0 && endRoot === treeRoot([]);
  if (start === 0 && end === size) return path.length === 0 && endRoot === root;
  if (![endRoot, root, ...path].every(isDigest)) return false;
  let [first, last, top] = [start, end - 1, size - 1];
  const up = (): void => {
    [first, last, top] = [half(first), half(last), half(top)];
  };
  while (first !== last && (last === top || last % 2 === 1)) up();
  const rest = [...path];
  let below = first === last ? endRoot : rest.shift();
  let above = below;
  if (below === undefined || above === undefined) return false;
  for (const sibling of rest) {
    if (top === 0) return false;
    if (last % 2 === 1 || last === top) {
      if (first < last) below = nodeHash(sibling, below);
      above = nodeHash(sibling, above);
      while (last % 2 === 0) up();
    } else {
      above = nodeHash(above, sibling);
    }
    up();
  }
  return top === 0 && below === endRoot && above === root;
}

function subproof(leaves: readonly string[], size: number, whole: boolean): readonly string[] {
  if (size === leaves.length) return whole ? [] : [treeRoot(leaves)];
  const split = splitOf(leaves.length);
  const left = leaves.slice(0, split);
  const right = leaves.slice(split);
  return size <= split
    ? [...subproof(left, size, whole), treeRoot(right)]
    : [...subproof(right, size - split, false), treeRoot(left)];
}

/** RFC 6962 2.1. Without leaves, the SHA-256 of nothing. */
export function treeRoot(leaves: readonly string[]): string {
  const [only] = leaves;
  if (only === undefined) return hash("sha256", "", "hex");
  if (leaves.length === 1) return only;
  const split = splitOf(leaves.length);
  return nodeHash(treeRoot(leaves.slice(0, split)), treeRoot(leaves.slice(split)));
}

/** The largest power of two below `size`. */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** The byte 1, then the two hashes. */
const pair = Buffer.alloc(65, 1);

export function nodeHash(left: string, right: string): string {
  pair.write(left, 1, "hex");
  pair.write(right, 33, "hex");
  return hash("sha256", pair, "hex");
}

function half(place: number): number {
  return Math.floor(place / 2);
}

function isPlace(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}

/** A part of a tree that is a tree of its own: it begins at a multiple of the smallest power of two that holds it. */
function isPart(start: number, end: number): boolean {
  if (!isPlace(start) || start > end) return false;
  let width = 1;
  while (width < end - start) width *= 2;
  return start % width === 0;
}

function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
