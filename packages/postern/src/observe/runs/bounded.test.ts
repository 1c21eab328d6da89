import fc from "fast-check";
import { expect, it } from "vitest";
import { createRedactor } from "../../secrets/redactor.ts";
import { brief, briefData } from "./bounded.ts";

const plain = (text: string): string => text;
const bytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
const anything = fc.oneof(fc.string({ unit: "binary", maxLength: 2_000 }), fc.string({ unit: "grapheme" }));

it("leaves a text that fits unchanged, except for half surrogates", () => {
  expect(brief("as it is", 300, plain)).toBe("as it is");
  expect(brief("half \ud800", 300, plain)).toBe("half \ufffd");
  expect(brief("", 300, plain)).toBe("");
});

it("never takes more bytes of a line than it may, and cuts between code points", async () => {
  await fc.assert(
    fc.property(anything, fc.integer({ min: 10, max: 700 }), (text, limit) => {
      const short = brief(text, limit, plain);
      expect(bytes(short)).toBeLessThanOrEqual(limit);
      expect(short.isWellFormed()).toBe(true);
      const head = short.endsWith("…") ? short.slice(0, -1) : short;
      expect(text.toWellFormed().startsWith(head)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

it("masks a secret at the cut", () => {
  const redactor = createRedactor();
  const secret = "a-very-secret-value-of-some-length";
  redactor.learn(secret);
  for (let before = 250; before < 310; before += 1) {
    const short = brief("x".repeat(before) + secret + "y".repeat(200_000), 300, (text) => redactor.redact(text));
    for (let i = 0; i + 6 <= secret.length; i += 1) expect(short).not.toContain(secret.slice(i, i + 6));
  }
});

it("masks a secret at the end of the masked part, also after other masks", () => {
  const redactor = createRedactor();
  const secret = "s3cret-s3cret-s3cret-s3cret";
  redactor.learn(secret);
  const text = secret.repeat(5_000);
  expect(brief(text, 600, (given) => redactor.redact(given))).not.toContain("s3cret");
});

it("keeps small data, and the size and beginning of large data", () => {
  expect(briefData({ path: "a.txt", lines: 3 }, 300, plain)).toEqual({ path: "a.txt", lines: 3 });
  const big = briefData({ text: "x".repeat(10_000) }, 300, plain);
  expect(big).toMatchObject({ cut: true, bytes: 10_011 });
  expect(Buffer.byteLength(JSON.stringify(big))).toBeLessThan(300);
});

it("keeps data of any strings within its bytes", async () => {
  await fc.assert(
    fc.property(fc.dictionary(anything, fc.jsonValue({ stringUnit: "binary" })), (data) => {
      const kept = briefData(JSON.parse(JSON.stringify(data)), 400, plain);
      expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(400);
    }),
  );
});
