import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Query } from "./query.ts";
import { WebUrl } from "./url.ts";
import { decodeBytes, encodeText, isText } from "./utf8.ts";

const parts = [
  "http://",
  "https:",
  "HTTP:",
  "ftp://",
  "file:///",
  "file:",
  "mailto:",
  "data:text/plain,",
  "x-y:",
  "ws://",
  "//",
  "/",
  "\\",
  "a",
  "B c",
  "é",
  "ä.example",
  "日本.jp",
  "example.com",
  "127.1",
  "0x7f.1",
  "[::1]",
  "[1:0:0:2::3]",
  "[::ffff:1.2.3.4]",
  ":80",
  ":443",
  ":8080",
  ":99999",
  "user:pa ss@",
  "@",
  "?",
  "a=b&c=%20d",
  "#",
  "frag ment",
  "..",
  ".",
  "%2e%2E",
  "%",
  "%zz",
  "'",
  '"',
  "<",
  "^",
  "`",
  "{",
  "}",
  "\t",
  " ",
];
const members = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
] as const;

function read(url: URL | WebUrl): Readonly<Record<string, string>> {
  return Object.fromEntries(members.map((name) => [name, url[name]]));
}

function tried<T>(work: () => T): T | "refused" {
  try {
    return work();
  } catch {
    return "refused";
  }
}

const text = fc.array(fc.constantFrom(...parts), { maxLength: 7 }).map((all) => all.join(""));

describe("a script's URL", () => {
  it("is what Node's is, of whatever it is made", async () => {
    await fc.assert(
      fc.property(text, fc.option(text), (url, base) => {
        const ours = tried(() => read(new WebUrl(url, base ?? undefined)));
        expect(ours).toEqual(tried(() => read(new URL(url, base ?? undefined))));
      }),
      { numRuns: Number(process.env["FC_RUNS"] ?? 2_000) },
    );
  });

  it.each(["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"] as const)(
    "takes a new %s as Node's does",
    (name) => {
      for (const start of ["https://a.b/c?d#e", "http://u:p@h:81/x/y", "file:///x"])
        for (const value of ["", "x", "é y", "81", "h2:82", "?q=1", "#f", "/p/../q", "http", "ftp:"]) {
          const [ours, theirs] = [new WebUrl(start), new URL(start)];
          ours[name] = value;
          theirs[name] = value;
          expect([name, start, value, ours.href]).toEqual([name, start, value, theirs.href]);
        }
    },
  );

  it("follows its query, and its query follows it", () => {
    const url = new WebUrl("https://a.b/?x=1");
    url.searchParams.append("y z", "ä&");
    expect(url.href).toBe("https://a.b/?x=1&y+z=%C3%A4%26");
    url.search = "?n=2";
    expect([...url.searchParams]).toEqual([["n", "2"]]);
    expect(JSON.stringify({ url })).toBe('{"url":"https://a.b/?n=2"}');
  });
});

it("a script's query is what Node's is", async () => {
  const word = fc.string({ unit: "grapheme", maxLength: 6 });
  await fc.assert(
    fc.property(fc.array(fc.tuple(word, word)), word, (pairs, name) => {
      const [ours, theirs] = [new Query(pairs), new URLSearchParams(pairs)];
      for (const query of [ours, theirs]) {
        query.set(name, "1");
        query.append(name, "2 +");
        query.sort();
      }
      expect(ours.toString()).toBe(theirs.toString());
      expect([...new Query(ours.toString())]).toEqual([...new URLSearchParams(theirs.toString())]);
      expect([ours.getAll(name), ours.has(name, "1"), ours.size]).toEqual([
        theirs.getAll(name),
        theirs.has(name, "1"),
        theirs.size,
      ]);
      for (const query of [ours, theirs]) query.delete(name, "1");
      expect(ours.toString()).toBe(theirs.toString());
    }),
  );
  for (const given of ["?a=1&b", "a=%zz&=&&c=%C3%28", { a: 1, b: "ü" }, new Map([["k", "v"]])])
    expect(new Query(given as string).toString()).toBe(new URLSearchParams(given as string).toString());
});

it("UTF-8 is encoded and decoded as Node does it, whatever the bytes", async () => {
  await fc.assert(
    fc.property(fc.string({ unit: "binary" }), (given) => {
      expect([...encodeText(given)]).toEqual([...new TextEncoder().encode(given)]);
    }),
  );
  const byte = fc.oneof(
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(0xe0, 0xed, 0xf0, 0xf4, 0x80, 0x9f, 0xa0, 0xc2),
  );
  await fc.assert(
    fc.property(fc.array(byte), (given) => {
      const bytes = Uint8Array.from(given);
      expect(decodeBytes(bytes)).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
      expect(isText(bytes)).toBe(tried(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes)) !== "refused");
    }),
    { numRuns: 1_000 },
  );
});
