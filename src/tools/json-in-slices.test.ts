import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { HeldJson } from "./json-in-slices.ts";

function partsOf(text: string, size: number): readonly Buffer[] {
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += size) parts.push(bytes.subarray(from, from + size));
  return parts;
}

type Parsed = { readonly value: unknown } | "no JSON";

async function inSlices(text: string, pieces: number, slice: number): Promise<Parsed> {
  return new HeldJson(partsOf(text, pieces), { sliceBytes: slice }).parsed().then(
    (value) => ({ value }),
    (error: unknown) => {
      expect(error).toBeInstanceOf(SyntaxError);
      return "no JSON" as const;
    },
  );
}

function atOnce(text: string): Parsed {
  try {
    return { value: JSON.parse(Buffer.from(text).toString()) };
  } catch {
    return "no JSON";
  }
}

const names = fc.constantFrom("a", "b", "7", "0", "__proto__", "constructor", 'q"\\', "é💥", "");
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 6 },
    fc.jsonValue({ maxDepth: 0 }),
    fc.constantFrom("[,]", '{"a":1},', "\\", '"', "\ud83d\udca5"),
    fc.array(tie("json"), { maxLength: 6 }),
    fc.dictionary(names, tie("json"), { maxKeys: 6 }),
  ),
}));
const text = fc
  .tuple(json, fc.constantFrom(undefined, 1, "\t"))
  .map(([value, space]) => JSON.stringify(value, null, space));
const sizes = [fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 })] as const;

it("JSON parsed in slices is what it is parsed at once, wherever it is cut", async () => {
  await fc.assert(
    fc.asyncProperty(text, ...sizes, async (written, pieces, slice) => {
      expect(isDeepStrictEqual(await inSlices(written, pieces, slice), atOnce(written))).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

it("what is no JSON is none in slices either, and what is, by an odd spelling, is", async () => {
  const edit = fc.record({
    at: fc.nat(),
    cut: fc.nat({ max: 2 }),
    put: fc.constantFrom("", ",", "]", "}", "[", "{", '"', ":", "\\", " ", "1", "\n"),
  });
  await fc.assert(
    fc.asyncProperty(text, edit, ...sizes, async (written, { at, cut, put }, pieces, slice) => {
      const place = at % (written.length + 1);
      const odd = written.slice(0, place) + put + written.slice(place + cut);
      expect(isDeepStrictEqual(await inSlices(odd, pieces, slice), atOnce(odd))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

it.each([
  "[1,]",
  '{"a":1,}',
  "[1,,2]",
  "[1,  ,2]",
  "[ ,1]",
  '{,"a":1}',
  "[1}",
  '{"a":[1,2}]',
  "",
  "[",
  "]",
  "[1]]",
  '[1],"a"',
  '{"a":1,"a":{"b":2,"c":3},"a":5}',
])("%s is read as at once", async (written) => {
  for (const slice of [1, 2, 3, 5]) expect(await inSlices(written, 3, slice)).toStrictEqual(atOnce(written));
});

it("what is nested without end is parsed all the same", async () => {
  const deep = `[${"[".repeat(50_000)}1,2${"]".repeat(50_000)},3]`;
  expect(await inSlices(deep, 1_000, 100)).not.toBe("no JSON");
});
