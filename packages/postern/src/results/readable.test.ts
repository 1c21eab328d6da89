import fc from "fast-check";
import { expect, it } from "vitest";
import { runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { cutReadable, fitsReadable, readable } from "./readable.ts";

const limit = 4096;
const shownBytes = (text: string): number => Buffer.byteLength(readable(text));
const texts = fc.array(fc.constantFrom("a", "é", "\u{200d}", "\u{ad}", "\u{e0100}", "👩‍👧", "\u{feff}", "pаypal "), {
  maxLength: 300,
});

it("cuts a text so that it fits with its hidden characters shown", () => {
  void fc.assert(
    fc.property(texts, fc.integer({ min: 0, max: 200 }), (parts, bytes) => {
      const text = parts.join("");
      const head = cutReadable(text, bytes);
      expect(shownBytes(head)).toBeLessThanOrEqual(bytes);
      if (fitsReadable(text, bytes)) expect(shownBytes(text)).toBeLessThanOrEqual(bytes);
    }),
  );
});

it.each([
  ["joiners", "\u{200d}".repeat(1365)],
  ["families", "👩‍👧‍👦".repeat(240)],
  ["soft hyphens between letters", "ab\u{ad}".repeat(1000)],
])("a result of %s is never longer inline than its limit", async (_what, text) => {
  const tool = { name: "hidden", description: "Text.", risk: "safe", effects: "read", idempotent: true } as const;
  await using h = await runtimeFixture({ limits: { maxInlineResultBytes: limit } }, [{ ...tool, execute: () => text }]);
  const outcome = await h.runtime.invoke({ tool: "hidden" });
  expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(limit);
  expect(outcome.artifact === undefined).toBe(shownBytes(text) <= limit);
});
