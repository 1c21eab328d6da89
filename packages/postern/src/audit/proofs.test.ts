import { describe, expect, it } from "vitest";
import { corpus } from "../../../../test/fakes/corpus.ts";
import { consistencyPath, inclusionPath, leafHash, verifyConsistency, verifyInclusion, verifyPart } from "./proofs.ts";
import { Tree } from "./tree.ts";

interface Row {
  readonly name: string;
  readonly v: {
    readonly leafIdx: number;
    readonly treeSize: number;
    readonly leafHash: string;
    readonly root: string;
    readonly size: number;
    readonly size1: number;
    readonly size2: number;
    readonly start: number;
    readonly end: number;
    readonly root1: string;
    readonly root2: string;
    readonly proof: readonly string[] | null;
    readonly wantErr: boolean;
  };
}

const hex = (base64: string): string => Buffer.from(base64, "base64").toString("hex");

function holds({ name, v }: Row): boolean {
  const path = (v.proof ?? []).map(hex);
  switch (name.split("/")[0]) {
    case "inclusion":
      return verifyInclusion({
        leaf: hex(v.leafHash),
        index: v.leafIdx,
        size: v.treeSize,
        root: hex(v.root),
        path,
      });
    case "subtreeinclusion": {
      const part = isPart(v.start, v.end);
      const [index, size] = [v.leafIdx - v.start, v.end - v.start];
      return part && verifyInclusion({ leaf: hex(v.leafHash), index, size, root: hex(v.root), path });
    }
    case "consistency":
      return verifyConsistency({
        end: v.size1,
        size: v.size2,
        endRoot: hex(v.root1),
        root: hex(v.root2),
        path,
      });
    default: {
      const { start, end, size } = v;
      return verifyPart({
        start,
        end,
        size,
        endRoot: hex(v.root1),
        root: hex(v.root2),
        path,
      });
    }
  }
}

/** A subtree's own shape is not in an inclusion proof: it begins at a multiple of the power of two that holds it. */
function isPart(start: number, end: number): boolean {
  return start < end && start % 2 ** Math.ceil(Math.log2(end - start)) === 0;
}

describe("published proofs (transparency-dev/merkle)", () => {
  const rows = corpus<Row>("merkle-log/rfc6962_proofs.dev.json");
  it.skipIf(rows.length === 0)(`are all judged as published (${rows.length})`, () => {
    const wrong = rows.filter((row) => holds(row) === row.v.wantErr).map(({ name }) => name);
    expect(wrong).toEqual([]);
  });
});

describe("our own proofs", () => {
  const bodies = Array.from({ length: 40 }, (_, i) => `{"entry":${i}}`);
  const leaves = bodies.map(leafHash);
  const rootAt = (size: number): string => {
    const tree = new Tree();
    for (const body of bodies.slice(0, size)) tree.append(body);
    return tree.root();
  };

  it("show every entry in every tree, and in no other place", () => {
    for (let size = 1; size <= bodies.length; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const path = inclusionPath(leaves.slice(0, size), index);
        const proof = { leaf: leaves[index] ?? "", index, size, root: rootAt(size), path };
        expect(verifyInclusion(proof)).toBe(true);
        expect(verifyInclusion({ ...proof, index: (index + 1) % size })).toBe(size === 1);
      }
    }
  });

  it("show that every tree grew out of every earlier one, and not out of another", () => {
    for (let size = 1; size <= bodies.length; size += 1) {
      for (let end = 1; end <= size; end += 1) {
        const path = consistencyPath(leaves.slice(0, size), end);
        const proof = { end, size, endRoot: rootAt(end), root: rootAt(size), path };
        expect(verifyConsistency(proof)).toBe(true);
        expect(verifyConsistency({ ...proof, endRoot: leafHash("other") })).toBe(false);
      }
    }
  });

  it("show that any part is in the whole", () => {
    const rootOver = (start: number, end: number): string => {
      const tree = new Tree();
      for (const body of bodies.slice(start, end)) tree.append(body);
      return tree.root();
    };
    const root = rootOver(0, 8);
    const first = rootOver(0, 4);
    const tail = { start: 4, end: 8, size: 8, endRoot: rootOver(4, 8), root, path: [first] };
    const middle = { ...tail, end: 6, endRoot: rootOver(4, 6), path: [rootOver(6, 8), first] };
    expect([verifyPart(tail), verifyPart(middle)]).toEqual([true, true]);
    expect(verifyPart({ ...tail, path: [root] })).toBe(false);
    expect(verifyPart({ ...tail, start: 3 })).toBe(false);
    expect(verifyPart({ ...tail, start: 9 })).toBe(false);
    expect(verifyPart({ ...tail, start: -4 })).toBe(false);
  });

  it("refuse places that do not exist", () => {
    expect(() => inclusionPath(leaves, 40)).toThrow("Entry 40 is not in a tree of 40.");
    expect(() => inclusionPath(leaves, 0.5)).toThrow(RangeError);
    expect(() => consistencyPath(leaves, 0)).toThrow("A tree of 40 did not grow out of one of 0.");
    expect(verifyInclusion({ leaf: "x", index: 0, size: 1, root: "x", path: [] })).toBe(false);
  });
});

describe("an invalid proof", () => {
  const leaves = ["a", "b", "c", "d", "e"].map(leafHash);
  const rootOf = (bodies: readonly string[]): string => {
    const tree = new Tree();
    for (const body of bodies) tree.append(body);
    return tree.root();
  };
  const root = rootOf(["a", "b", "c", "d", "e"]);
  const leaf = leafHash("b");
  const path = inclusionPath(leaves, 1);
  const grown = consistencyPath(leaves, 3);
  const part = { start: 0, end: 3, size: 5, endRoot: rootOf(["a", "b", "c"]), root, path: grown };
  const empty = { start: 2, end: 2, size: 5, endRoot: rootOf([]), root, path: [] };

  it("of an entry is refused for a wrong place, number, digest or path", () => {
    const good = { leaf, index: 1, size: 5, root, path };
    expect(verifyInclusion(good)).toBe(true);
    for (const bad of [{ index: 5 }, { index: -1 }, { size: 0.5 }, { path: ["00"] }, { path: [...path, leaf] }])
      expect(verifyInclusion({ ...good, ...bad })).toBe(false);
  });

  it("of a part is refused for a wrong place, number, digest or path", () => {
    expect(verifyPart(part)).toBe(true);
    const [first = ""] = grown;
    for (const bad of [
      { end: 0.5 },
      { size: -1 },
      { size: 2 },
      { start: 1 },
      { start: 4 },
      { endRoot: "00" },
      { path: [] },
      { path: [...grown, first, first, first] },
    ])
      expect(verifyPart({ ...part, ...bad })).toBe(false);
    expect(verifyPart({ ...part, start: 2, end: 3, path: [] })).toBe(false);
  });

  it("of an empty part is valid only with the empty root and no path", () => {
    expect(verifyPart(empty)).toBe(true);
    expect(verifyPart({ ...empty, endRoot: root })).toBe(false);
    expect(verifyPart({ ...empty, path: [root] })).toBe(false);
    expect(verifyConsistency({ end: 0, size: 5, endRoot: rootOf([]), root, path: [] })).toBe(false);
  });
});
