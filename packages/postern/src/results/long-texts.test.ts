import fc from "fast-check";
import { expect, it } from "vitest";
import { createRedactor } from "../secrets/redactor.ts";
import { cleanLongResult, isLongResult } from "./clean.ts";
import { findsIn, pieceBytes } from "./streams.ts";

const secret = "correct horse battery staple";

function learned() {
  const redactor = createRedactor();
  redactor.learn(secret);
  return redactor;
}

it("a long text is redacted wherever a secret stands and however it is encoded and wrapped", async () => {
  const redactor = learned();
  const base64 = Buffer.from(secret.repeat(3)).toString("base64");
  const wrapped = base64.replace(/(.{24})/g, "$1\n");
  const encoded = [secret, base64, wrapped, encodeURIComponent(secret), JSON.stringify(secret)];
  const place = fc.record({ at: fc.integer({ min: -300, max: 40 }), what: fc.constantFrom(...encoded) });
  await fc.assert(
    fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 4 }), async (places) => {
      let text = "lorem ipsum ".repeat(Math.ceil((6 * pieceBytes) / 12));
      for (const [i, { at, what }] of places.entries()) {
        const from = (i + 1) * pieceBytes + at;
        text = text.slice(0, from) + what + text.slice(from + what.length);
      }
      const raw = { content: [{ type: "text" as const, text }], isError: false };
      expect(isLongResult(raw)).toBe(true);
      expect(await findsIn(text, redactor)).toBe(true);
      expect((await cleanLongResult(raw, redactor)).text === redactor.redact(text)).toBe(true);
    }),
    { numRuns: 15 },
  );
});

it("a secret over the edge of two pieces is found", async () => {
  for (const what of [secret, Buffer.from(secret).toString("base64"), encodeURIComponent(secret)]) {
    const before = "x".repeat(pieceBytes - Math.floor(what.length / 2));
    expect(await findsIn(`${before}${what}${"x".repeat(3 * pieceBytes)}`, learned())).toBe(true);
  }
  expect(await findsIn("x".repeat(4 * pieceBytes), learned())).toBe(false);
});

it("a redactor that does not say how far it looks gets the whole text", async () => {
  const whole: number[] = [];
  const { learn, finds } = learned();
  const redact = (text: string): string => {
    whole.push(text.length);
    return text;
  };
  const text = "x".repeat(4 * pieceBytes);
  await cleanLongResult({ content: [{ type: "text", text }], isError: false }, { learn, finds, redact });
  expect(whole.filter((length) => length > pieceBytes)).toEqual([text.length]);
});
