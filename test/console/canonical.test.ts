import fc from "fast-check";
import { expect, it } from "vitest";
import { canonical, sha256 } from "../../console/src/kit/canonical.ts";
import { type Json, canonical as kept } from "../../packages/core/src/json.ts";
import { digestOf } from "../../packages/core/src/system/digest.ts";

it("writes exactly the bytes that the server hashes", () => {
  const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false });
  void fc.assert(
    fc.property(json, (value) => {
      const text = JSON.stringify(value);
      fc.pre(text === text.toWellFormed());
      // What a browser has is what came over the wire.
      return canonical(JSON.parse(text)) === kept(value as Json); // fast-check made JSON
    }),
  );
});

it("hashes them as the server does", async () => {
  const value = { to: "ädä@example.org", amount: 1e21, lines: ["a\n", "\u2028"], none: null };
  expect(await sha256(canonical(value))).toBe(digestOf(value));
});

it("orders names by their UTF-16 code units, `__proto__` and numbers too", () => {
  const text = '{"b":1,"\\ufb33":2,"\\ud83d\\ude00":3,"10":4,"9":5,"__proto__":{"a":1},"a":-0.0}';
  const value = JSON.parse(text) as Json; // written above
  expect(canonical(value)).toBe(kept(value));
});
