import fastCheck from "fast-check";
import { expect, it } from "vitest";
import { jsonTexts } from "../../../test/fakes/corpus.ts";
import { parseStrict } from "./strict-json.ts";

const problemOf = (text: string): string | undefined => {
  const parsed = parseStrict(text);
  return "problem" in parsed ? parsed.problem : undefined;
};

it.each([
  ["a name given twice", '{"a":1,"b":{"c":2},"a":3}', /"a".* twice/],
  ["a name given twice in another spelling", '{"a":1,"\\u0061":2}', /twice/],
  ["a name given twice deep inside", '[{"x":[{"to":"a","to":"b"}]}]', /"to".* twice/],
  ["`__proto__`", '{"__proto__":{"admin":true}}', /__proto__/],
  ["`__proto__` in another spelling", '{"a":{"\\u005f_proto__":1}}', /__proto__/],
  ["a whole number beyond 2^53", '{"id":9007199254740993}', /9007199254740993.*2\^53/],
  ["a negative one", "[-9007199254740992]", /-9007199254740992/],
  ["the same with a fraction of nothing", "[9007199254740993.0]", /2\^53/],
  ["a number that becomes infinite", "[1e400]", /1e400/],
  ["an escaped lone surrogate", '["\\ud800"]', /surrogate/],
  ["an escaped lone surrogate in a name", '{"\\udc00":1}', /surrogate/],
  ["a lone surrogate as such", '["\ud800"]', /surrogate/],
  ["a byte order mark", "\ufeff{}", /byte order mark/],
  ["nothing", "", /not valid JSON/],
  ["an open string", '{"a', /not valid JSON/],
])("refuses %s and says what it was", (_, text, problem) => {
  expect(problemOf(text)).toMatch(problem);
});

it("accepts what looks like the above and is not", () => {
  const text =
    '{"a":"{\\"a\\":1,\\"a\\":2}","b":["a","a",9007199254740991,1e20,"\\ud83d\\ude00","\\\\ud800","__proto__"],"constructor":{"a":0}}';
  expect(parseStrict(text)).toEqual({ value: JSON.parse(text) });
});

it("allows 100 levels and no more, however deep the text goes on", () => {
  expect(problemOf("[".repeat(100) + "]".repeat(100))).toBeUndefined();
  expect(problemOf("[".repeat(101) + "]".repeat(101))).toMatch(/deeper than 100/);
  expect(problemOf('{"a":'.repeat(2_000_000))).toMatch(/deeper than 100/);
});

it("takes 50,000 names and 250,000 values, and refuses more before it has read them", () => {
  const listOf = (one: string, count: number): string => `[${Array.from({ length: count }, () => one).join()}]`;
  const named = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"${i}":1`).join()}}`;
  expect(problemOf(named(50_000))).toBeUndefined();
  expect(problemOf(named(50_001))).toBe("More than 50000 names; keep large data as an artifact and name it.");
  expect(problemOf(listOf('{"a":1}', 50_001))).toMatch(/^More than 50000 names/);
  expect(problemOf(listOf("1", 250_000))).toBeUndefined();
  expect(problemOf(listOf("1", 250_001))).toMatch(/^More than 250000 values/);
  expect(parseStrict(`${listOf("1", 300_000)} and no JSON`)).toHaveProperty("position", 500_000);
});

it("gives what JSON.parse gives for every value that was written plainly", async () => {
  const plain = fastCheck.json().filter((text) => !/\\ud|__proto__|\d{16}/i.test(text) && text.isWellFormed());
  await fastCheck.assert(
    fastCheck.property(plain, (text) => {
      expect(parseStrict(text)).toEqual({ value: JSON.parse(text) });
    }),
  );
});

it("never throws, whatever the text", async () => {
  const noise = fastCheck.string({
    unit: fastCheck.constantFrom(...'{}[]",:\\ue+-.019du8 \n'),
    maxLength: 40,
  });
  await fastCheck.assert(
    fastCheck.property(noise, (text) => {
      const parsed = parseStrict(text);
      if ("value" in parsed) expect(parsed.value).toEqual(JSON.parse(text));
    }),
    { numRuns: 5_000 },
  );
});

/** Valid JSON that this door refuses all the same: two readers could see two values in it. */
const refusedOnPurpose: ReadonlyMap<string, RegExp> = new Map([
  ["y_object_duplicated_key.json", /twice/],
  ["y_object_duplicated_key_and_value.json", /twice/],
]);

const rows = jsonTexts();

it.skipIf(rows.length === 0)("agrees with JSONTestSuite on what is JSON, but for the rows refused on purpose", () => {
  const wrong = rows.flatMap((row) => {
    const text = new TextDecoder("utf8", { ignoreBOM: true }).decode(row.bytes);
    const problem = problemOf(text);
    const purpose = refusedOnPurpose.get(row.name);
    if (purpose !== undefined) return purpose.test(problem ?? "") ? [] : [`${row.name}: ${problem}`];
    const isWrong = (row.expect === "y" && problem !== undefined) || (row.expect === "n" && problem === undefined);
    return isWrong ? [`${row.name}: ${problem ?? "accepted"}`] : [];
  });
  expect(wrong).toEqual([]);
});
