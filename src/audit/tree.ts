import { hash } from "node:crypto";
import { isJsonObject, type Json } from "../core/json.ts";

/** All of a tree that is needed to go on: the roots of its complete subtrees, biggest first, 64 hex digits each. */
export interface Edge {
  readonly size: number;
  readonly roots: readonly string[];
}

/** An edge as it was kept, or nothing: somebody may have changed the document it was kept in. */
export function readEdge(value: Json | undefined): Edge | undefined {
  if (!isJsonObject(value)) return undefined;
  const { size, roots } = value;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) return undefined;
  if (!Array.isArray(roots)) return undefined;
  const subtrees = size.toString(2).replaceAll("0", "").length;
  const given: readonly Json[] = roots;
  const digests = given.filter((root) => typeof root === "string" && /^[0-9a-f]{64}$/.test(root));
  if (given.length !== digests.length || digests.length !== subtrees) return undefined;
  return { size, roots: digests.map(String) };
}

/** 64 hex digits. */
export function rootOf(edge: Edge): string {
  return new Tree(edge).root();
}

/** Room for a zero and most bodies, and its beginnings by their length: hashing in place spares a copy of each body. */
const room: Buffer = Buffer.alloc(4096);
const beginnings: Buffer[] = [];

function leafHash(body: string): string {
  if (body.length * 3 >= room.length) return hash("sha256", `\0${body}`, "binary");
  const length = room.write(body, 1) + 1;
  beginnings[length] ??= room.subarray(0, length);
  return hash("sha256", beginnings[length], "binary");
}

/**
 * An RFC 6962 Merkle tree that keeps only its right edge: leaf = SHA-256(0x00, body), node = SHA-256(0x01, left, right).
 * Digests travel as binary strings, which are cheaper than Buffers. Sizes may pass 2^32, so no bit operators.
 */
export class Tree {
  #size = 0;
  /** At `level`: the root of a complete subtree of 2^level leaves; stale where that bit of the size is not set. */
  readonly #edge: string[] = [];
  readonly #node: Buffer = Buffer.alloc(65, 1);

  /** @param edge where to go on; from `edge()` or `readEdge` */
  constructor(edge: Edge = { size: 0, roots: [] }) {
    this.#size = edge.size;
    const roots = [...edge.roots];
    for (let rest = edge.size; rest > 0; rest = Math.floor(rest / 2)) {
      const root = rest % 2 === 1 ? roots.pop() : undefined;
      this.#edge.push(Buffer.from(root ?? "", "hex").toString("latin1"));
    }
  }

  get size(): number {
    return this.#size;
  }

  append(body: string): void {
    let root = leafHash(body);
    let level = 0;
    for (let rest = this.#size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
      root = this.#join(this.#subtree(level), root);
      level += 1;
    }
    this.#edge[level] = root;
    this.#size += 1;
  }

  /** 64 hex digits; of an empty tree the SHA-256 of nothing. */
  root(): string {
    let root: string | undefined;
    for (const smaller of this.#subtrees()) {
      root = root === undefined ? smaller : this.#join(smaller, root);
    }
    return root === undefined ? hash("sha256", "", "hex") : Buffer.from(root, "latin1").toString("hex");
  }

  edge(): Edge {
    const roots = this.#subtrees().map((root) => Buffer.from(root, "latin1").toString("hex"));
    return { size: this.#size, roots: roots.reverse() };
  }

  /** Smallest first. */
  #subtrees(): string[] {
    const found: string[] = [];
    for (let rest = this.#size, level = 0; rest > 0; rest = Math.floor(rest / 2), level += 1) {
      if (rest % 2 === 1) found.push(this.#subtree(level));
    }
    return found;
  }

  #subtree(level: number): string {
    return this.#edge[level] as string; // asked only where that bit of the size is set
  }

  #join(left: string, right: string): string {
    this.#node.write(left, 1, 32, "latin1");
    this.#node.write(right, 33, 32, "latin1");
    return hash("sha256", this.#node, "binary");
  }
}
