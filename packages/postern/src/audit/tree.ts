import { isJsonObject, type Json } from "@postern/core";
import { leafHash, nodeHash, treeRoot } from "./proofs.ts";

/** What a tree needs to grow: the roots of its complete subtrees, largest first, 64 hex digits each. */
export interface Edge {
  readonly size: number;
  readonly roots: readonly string[];
}

/** Returns undefined if the stored document was changed and is no edge any more. */
export function readEdge(value: Json | undefined): Edge | undefined {
  if (!isJsonObject(value)) return undefined;
  const { size, roots } = value;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) return undefined;
  if (!Array.isArray(roots)) return undefined;
  const subtrees = size.toString(2).replaceAll("0", "").length;
  const stored: readonly Json[] = roots;
  const digests = stored.filter((root) => typeof root === "string" && /^[0-9a-f]{64}$/.test(root));
  if (stored.length !== digests.length || digests.length !== subtrees) return undefined;
  return { size, roots: digests.map(String) };
}

/** 64 hex digits. The root of an empty tree is the SHA-256 of nothing. */
export function rootOf({ roots }: Edge): string {
  const [smallest = treeRoot([]), ...larger] = roots.toReversed();
  return larger.reduce((right, left) => nodeHash(left, right), smallest);
}

/**
 * An RFC 6962 Merkle tree that keeps only its right edge: leaf = SHA-256(0x00, body), node = SHA-256(0x01, left, right).
 * Sizes may exceed 2^32, so it uses no bit operators.
 */
export class Tree {
  #size: number;
  readonly #roots: string[];

  /** @param edge where the tree continues; from `edge()` or `readEdge` */
  constructor(edge: Edge = { size: 0, roots: [] }) {
    this.#size = edge.size;
    this.#roots = [...edge.roots];
  }

  get size(): number {
    return this.#size;
  }

  append(body: string): void {
    let root = leafHash(body);
    for (let rest = this.#size; rest % 2 === 1; rest = Math.floor(rest / 2))
      root = nodeHash(this.#roots.pop() ?? "", root); // one root for each bit of the size that is set
    this.#roots.push(root);
    this.#size += 1;
  }

  root(): string {
    return rootOf(this.edge());
  }

  edge(): Edge {
    return { size: this.#size, roots: [...this.#roots] };
  }
}
