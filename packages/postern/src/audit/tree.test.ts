import { describe, expect, it } from "vitest";
import { Recount } from "./recount.ts";
import { readEdge, Tree } from "./tree.ts";

describe("the tree", () => {
  it("gives the roots RFC 6962 gives", () => {
    const tree = new Tree();
    expect(tree.root()).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    tree.append("");
    expect(tree.root()).toBe("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  });

  it("agrees with the verifier's own arithmetic at every size", () => {
    const [tree, recount] = [new Tree(), new Recount()];
    for (let size = 0; size < 300; size += 1) {
      expect(tree.root()).toBe(recount.root());
      expect(tree.size).toBe(recount.size);
      tree.append(`{"n":${size},"ü":"€"}`);
      recount.add(`{"n":${size},"ü":"€"}`);
    }
  });

  it("continues from its edge at every size", () => {
    const whole = new Tree();
    for (let size = 0; size < 130; size += 1) {
      const again = new Tree(readEdge(JSON.parse(JSON.stringify(whole.edge()))));
      expect(again.root()).toBe(whole.root());
      whole.append(String(size));
      again.append(String(size));
      expect(again.edge()).toEqual(whole.edge());
    }
  });

  it("counts on beyond 2^32 entries", () => {
    const size = 2 ** 32 + 3;
    const roots = ["a", "b", "c"].map((digit) => digit.repeat(64));
    const tree = new Tree(readEdge({ size, roots }));
    tree.append("x");
    expect(tree.edge()).toMatchObject({
      size: 2 ** 32 + 4,
      roots: ["a".repeat(64), expect.any(String)],
    });
  });

  it.each([
    [undefined],
    [null],
    [{ size: -1, roots: [] }],
    [{ size: 1.5, roots: [] }],
    [{ size: 3, roots: ["a".repeat(64)] }],
    [{ size: 1, roots: ["A".repeat(64)] }],
    [{ size: 1, roots: [7] }],
    [{ size: 1, roots: "a" }],
    [{ size: "1", roots: [] }],
  ])("takes no edge that can be none: %j", (value) => {
    expect(readEdge(value)).toBeUndefined();
  });
});
