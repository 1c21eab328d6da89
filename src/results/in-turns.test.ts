import fc from "fast-check";
import { expect, it } from "vitest";
import { sha256 } from "../calls/json.ts";
import { createRedactor } from "../secrets/redactor.ts";
import {
  bytesInTurns,
  copiedInTurns,
  digestInTurns,
  foundInTurns,
  redactedInTurns,
  spelledInTurns,
} from "./in-turns.ts";

const secret = "a secret of the house: 0123456789 ÄÖÜ";
const mebi = 1024 * 1024;

function house() {
  const redactor = createRedactor();
  redactor.learn(secret);
  return redactor;
}

it("redacting in turns finds what redacting at once finds, wherever it stands and however it is spelled and wrapped", async () => {
  const redactor = house();
  const base64 = Buffer.from(secret.repeat(3)).toString("base64");
  const wrapped = base64.replace(/(.{24})/g, "$1\n");
  const spelled = [secret, base64, wrapped, encodeURIComponent(secret), JSON.stringify(secret)];
  const place = fc.record({ at: fc.integer({ min: -300, max: 40 }), what: fc.constantFrom(...spelled) });
  await fc.assert(
    fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 4 }), async (places) => {
      let text = "lorem ipsum ".repeat(Math.ceil((2.2 * mebi) / 12));
      for (const [i, { at, what }] of places.entries()) {
        const from = (i + 1) * 512 * 1024 + at;
        text = text.slice(0, from) + what + text.slice(from + what.length);
      }
      const found = await redactedInTurns(text, redactor);
      expect(found === redactor.redact(text)).toBe(true);
      expect(found.includes(secret)).toBe(false);
    }),
    { numRuns: 15 },
  );
});

it("a redactor that does not say how far it looks gets the whole text", async () => {
  const whole: number[] = [];
  const { learn, finds } = house();
  const redact = (text: string): string => {
    whole.push(text.length);
    return text;
  };
  await redactedInTurns("x".repeat(2 * mebi), { learn, finds, redact });
  expect(whole).toEqual([2 * mebi]);
});

it("a secret is found in bytes wherever it stands", async () => {
  for (const at of [0, 512 * 1024 - 10, 512 * 1024, mebi - 60, 2 * mebi - 60]) {
    const bytes = Buffer.alloc(2 * mebi, "x");
    bytes.write(secret, at);
    expect(await foundInTurns(bytes, house())).toBe(true);
  }
  expect(await foundInTurns(Buffer.alloc(2 * mebi, "x"), house())).toBe(false);
});

it("spelling, writing, copying and hashing in turns are what they are at once", async () => {
  const text = `${"x".repeat(512 * 1024 - 1)}💥"\n${"ü\\".repeat(mebi)}`;
  expect((await spelledInTurns(text)).join("") === JSON.stringify(text)).toBe(true);
  expect((await bytesInTurns([text, "ü", "", text])).equals(Buffer.from(`${text}ü${text}`))).toBe(true);
  expect(Buffer.from(await copiedInTurns(Buffer.from(text))).equals(Buffer.from(text))).toBe(true);
  expect(await digestInTurns(Buffer.from(text))).toBe(sha256(text));
});
