import fc from "fast-check";
import { expect, it } from "vitest";
import { canonical, type Json } from "../core/json.ts";
import { inOrder } from "./in-order.ts";

it("a value that was put in order with turns in between is digested as the one it was", async () => {
  let looks = 0;
  const next = async (): Promise<void> => void looks++;
  const names = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.nat(30).map(String),
    fc.constantFrom("b", "a", "toJSON", "10", "2"),
  );
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.integer(), fc.string({ unit: "grapheme" }), fc.boolean(), fc.constant(null)),
      fc.array(tie("value"), { maxLength: 5 }),
      fc.dictionary(names, tie("value"), { maxKeys: 8, noNullPrototype: true }),
    ),
  }));
  const same = fc.asyncProperty(value, async (given) => {
    const ordered = await inOrder(given, { next });
    expect(ordered).toEqual(given);
    expect(canonical(ordered)).toBe(canonical(given));
  });
  await fc.assert(same, { numRuns: 500 });
  expect(looks).toBeGreaterThan(0);
});

it("leaves a name that is refused where it is", async () => {
  const given = JSON.parse('{"b":{"__proto__":{"x":1},"a":1}}');
  const ordered = await inOrder(given, { next: async () => {} });
  expect(JSON.stringify(ordered)).toBe('{"b":{"__proto__":{"x":1},"a":1}}');
});
