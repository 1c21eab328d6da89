import type { Json } from "@postern/core";
import fc from "fast-check";
import { expect, describe as group, it } from "vitest";
import { expectWork } from "../../../../test/fakes/in-time.ts";
import { describe, describedBytes } from "./describe.ts";

group("tables", () => {
  it("names columns and counts rows of like objects", () => {
    const rows = Array.from({ length: 1500 }, (_, id) => ({ id, name: `n${id}`, ...(id % 2 === 0 && { mail: "m" }) }));
    expect(describe(rows)).toBe("table, 3 columns (id, name, mail), 1500 rows");
  });

  it("does not call unlike objects a table", () => {
    expect(describe([{ a: "x".repeat(200) }, { b: 1, c: 2 }, { d: 3, e: 4 }])).toMatch(/^array of 3 objects/);
  });

  it.each([
    ["a comma", "id,name,mail\n1,Ann,a@x\n2,Bob,b@x\n"],
    ["a semicolon", "id;name;mail\r\n1;Ann;a@x\r\n2;Bob;b@x"],
    ["a tab", "id\tname\tmail\n1\tAnn\ta@x\n2\tBob\tb@x\n"],
  ])("sees a table in a text whose rows are divided by %s", (_, text) => {
    expect(describe(text)).toBe("table, 3 columns (id, name, mail), 2 rows");
  });

  it("reads quoted fields with delimiters, line breaks and quotes in them", () => {
    const text = 'id,"the ""name""",note\n1,Ann,"one, two\nthree"\n\n2,Bob,"said ""no"""\n3,"open';
    expect(describe(text, "text/csv; charset=utf-8")).toBe('table, 3 columns (id, the "name", note), 3 rows');
  });

  it("believes the media type where the text alone would not tell", () => {
    expect(describe("name\nAnn\nBob\n", "text/csv")).toBe("table, 1 column (name), 2 rows");
    expect(describe("", "text/csv")).toBe("empty text");
  });

  it("does not take prose for a table", () => {
    const prose = `Dear Ann, how are you?\nI am fine, thank you.\nSee you, Bob\n${"And more of that, of course.\n".repeat(9)}`;
    expect(describe(prose)).toMatch(/^text, 12 lines, \d+ words, \d+ bytes: Dear Ann/);
  });

  it("says that there is more when it stops counting", () => {
    const text = `id,name\n${"1,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(120_000)}`;
    expect(describe(text, "text/csv")).toMatch(/^table, 2 columns \(id, name\), more than 2\d{4} rows$/);
  });
});

group("texts", () => {
  it("shows a short text itself, in one line", () => {
    expect(describe("sent\n to\tBob ")).toBe("sent to Bob");
    expect(describe("")).toBe("empty text");
    expect(describe(" \n ")).toBe("text, 3 bytes of white space");
  });

  it("shows the head of a long one and counts lines, words and bytes", () => {
    const text = "one two\n".repeat(100);
    expect(describe(text)).toMatch(/^text, 100 lines, 200 words, 800 bytes: one two one two .*…$/);
    expect(describe(text, "text/markdown")).toMatch(/^text\/markdown, 100 lines/);
  });

  it("is quick with a huge one", async () => {
    const text = "word ".repeat(4_000_000);
    await expectWork(1_000, () => {
      expect(describe(text)).toMatch(/^text, 1 line, more than 524\d{2} words, 20000000 bytes/);
      expect(describe("word\n".repeat(4_000_000))).toMatch(/^text, more than 100000 lines, more than/);
    });
  });
});

group("JSON", () => {
  it("shows a small value itself", () => {
    expect(describe({ a: [1, null, "x"], b: true })).toBe('{"a":[1,null,"x"],"b":true}');
    expect(describe(null)).toBe("null");
    expect(describe(7)).toBe("7");
  });

  it("shows the shape of a large one", () => {
    const value = {
      rows: Array.from({ length: 1500 }, (_, n) => n),
      next: null,
      who: { name: "Ann", mail: "x".repeat(99) },
    };
    expect(describe(value)).toBe(
      'object of 3 keys: rows: array of 1500 numbers, next: null, who: (object of 2 keys: name: "Ann", mail: text of 99 characters)',
    );
  });

  it("names a few of many keys", () => {
    const value = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`key${n}`, "v".repeat(50)]));
    expect(describe(value)).toMatch(/^object of 500 keys: key0: text of 50 characters, .*, and 488 more$/);
  });

  it("reads JSON that came as text", () => {
    expect(
      describe(
        JSON.stringify([
          { a: 1, b: 2 },
          { a: 3, b: 4 },
        ]),
      ),
    ).toBe("table, 2 columns (a, b), 2 rows");
    expect(describe("{not json}")).toBe("{not json}");
    expect(describe('{"a":1}', "text/plain")).toBe('{"a":1}');
  });

  it("does not follow a value nested ten thousand levels deep", () => {
    let value: Json = 1;
    for (let n = 0; n < 10_000; n += 1) value = n % 2 === 0 ? [value] : { value };
    expect(describe(value)).toMatch(/^object of 1 key: value: \(array of 1 object/);
  });
});

group("bytes", () => {
  it("says type and size of what is no text", () => {
    expect(describe(new Uint8Array(1234), "image/png")).toBe("image/png, 1.2 kB");
    expect(describe(Buffer.alloc(3).toString("base64"), "audio/mpeg")).toBe("audio/mpeg, 3 bytes");
    expect(describe(new Uint8Array(1))).toBe("application/octet-stream, 1 byte");
    expect(describe(new Uint8Array(999_990), "application/pdf")).toBe("application/pdf, 1 MB");
  });

  it("reads bytes of a text type as text", () => {
    expect(describe(Buffer.from("a,b\n1,2\n"), "text/csv")).toBe("table, 2 columns (a, b), 1 row");
  });
});

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme", minLength: 100, maxLength: 900 }),
  fc
    .array(fc.constantFrom("😀", "é", " ", "\n", ",", '"', "\ud83d", "\0", "a", "[", "{"), { maxLength: 900 })
    .map((all) => all.join("")),
);
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 6 }),
  anyText,
  fc.array(fc.dictionary(anyText, anyText), { maxLength: 9 }),
);
const anyType = fc.constantFrom(
  undefined,
  "text/plain",
  "text/csv",
  "text/tab-separated-values",
  "application/json",
  "image/png",
  "",
  "x",
);

/** What every description is, whatever it describes. */
function expectLine(said: string): void {
  expect(Buffer.byteLength(said)).toBeLessThanOrEqual(describedBytes);
  expect(said).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
  expect(said.isWellFormed()).toBe(true);
}

it("never throws, stays within its bytes and cuts no code point, for any JSON and any media type", async () => {
  await fc.assert(
    fc.property(anyJson, anyType, (value, mediaType) => {
      expectLine(describe(value as Json, mediaType)); // fast-check's own type for JSON
    }),
    { numRuns: 2_000 },
  );
});

it("makes no half code points out of a sound text", async () => {
  await fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 2_000 }), anyType, (text, mediaType) => {
      const said = describe(text, mediaType);
      expect(said.includes("\uFFFD")).toBe(text.includes("\uFFFD") && said.includes("\uFFFD"));
    }),
    { numRuns: 1_000 },
  );
});

it("never throws for any bytes", async () => {
  await fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), anyType, (bytes, type) => expectLine(describe(bytes, type))),
  );
});

it("cuts white space with a pair behind it between code points", () => {
  for (let spaces = 600; spaces < 700; spaces += 1)
    expect(describe(`${" ".repeat(spaces)}😀😀`, "text/plain")).not.toContain("\uFFFD");
  for (let spaces = 90; spaces < 110; spaces += 1)
    expect(describe(`a,b\n1,2\n`.replace("b", `${" ".repeat(spaces)}😀😀`), "text/csv")).not.toContain("\uFFFD");
});
