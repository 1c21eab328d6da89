import fc from "fast-check";
import { expect, it } from "vitest";
import { checkServerName, publicName } from "./upstream-names.ts";

it("two servers that offer one tool name have two names here (case 251)", () => {
  expect([publicName("files", "read"), publicName("web", "read")]).toEqual(["files__read", "web__read"]);
});

it("a long or strange name is cut to 64 plain characters and ends in a digest", () => {
  expect(publicName("files", "a.b")).toMatch(/^files__a_b_[0-9a-f]{8}$/);
  expect(publicName("files", "x".repeat(200))).toMatch(/^files__x{48}_[0-9a-f]{8}$/);
});

it("no two tools of any servers share a name, and every name is one the providers take", () => {
  const server = fc.stringMatching(/^[a-z](_?[a-z0-9-]){0,8}$/);
  const tool = fc.oneof(fc.string({ maxLength: 80, unit: "binary" }), fc.stringMatching(/^[a-z_.]{1,70}$/));
  void fc.assert(
    fc.property(server, tool, server, tool, (one, first, other, second) => {
      fc.pre(one !== other || first !== second);
      expect(publicName(one, first)).not.toBe(publicName(other, second));
      expect(publicName(one, first)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
    { numRuns: 1000 },
  );
});

it.each(["a__b", "a_", "_a", "", "ä", "a.b", "x".repeat(33), "-a"])("refuses the server name %j", (name) => {
  expect(() => checkServerName(name)).toThrow("cannot name a server");
});

it.each(["a", "a_b-c", "github", "A1"])("takes the server name %j", (name) => {
  expect(() => checkServerName(name)).not.toThrow();
});
