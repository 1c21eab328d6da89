import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { corpus } from "../../../test/fakes/corpus.ts";
import { expectWork } from "../../../test/fakes/in-time.ts";
import { hostMatcher, hostOf, hostPatternProblem } from "./url-host.ts";

describe("the host of a URL", () => {
  it.each([
    ["https://example.com", "example.com"],
    ["https://example.com:8443/a?b#c", "example.com"],
    ["https://EXAMPLE.com/A", "example.com"],
    ["HTTPS://example.com./", "example.com"],
    ["https://bücher.example/", "xn--bcher-kva.example"],
    ["https://xn--bcher-kva.example/", "xn--bcher-kva.example"],
    ["https://example.com/@evil.com", "example.com"],
    ["https://example.com?@evil.com", "example.com"],
    ["http://0x7f.1/", "127.0.0.1"],
    ["http://2130706433/", "127.0.0.1"],
    ["http://[::1]:80/", "[::1]"],
    ["wss://example.com/feed", "example.com"],
    ["https://example。com/", "example.com"],
  ])("of %s is %s", (url, host) => {
    expect(hostOf(url)).toBe(host);
  });

  it.each([
    "https://example.com@evil.com/",
    "https://ada:secret@example.com/",
    "https://evil.com\\@example.com/",
    "https:\\\\example.com",
    "https:/example.com",
    "https:///example.com",
    "https:example.com",
    "//example.com",
    "example.com",
    "https://ex%61mple.com/",
    " https://example.com/",
    "https://exam\tple.com/",
    "https://example.com/a b",
    "https://example.com..",
    "https://",
    "file:///etc/passwd",
    "mailto:ada@example.com",
    "javascript://example.com/%0aalert(1)",
    "",
  ])("cannot be told of %j", (url) => {
    expect(hostOf(url)).toBeUndefined();
  });

  it("agrees with the platform's parser whenever it returns a host", async () => {
    const piece = fc.constantFrom(
      "example",
      ".com",
      "evil",
      "@",
      ":80",
      "/",
      "?",
      "#",
      "\\",
      "xn--",
      "%41",
      "a",
      "1",
      "-",
      "[",
      "ü",
      ".",
    );
    const text = fc.tuple(fc.constantFrom("http://", "https://", "WSS://", ""), fc.array(piece, { maxLength: 8 }));
    await fc.assert(
      fc.property(text, ([scheme, pieces]) => {
        const url = scheme + pieces.join("");
        const host = hostOf(url);
        if (host !== undefined) expect(host).toBe(new URL(url).hostname.replace(/\.$/, ""));
      }),
      { numRuns: 5_000 },
    );
  });

  it("is found in time also where a URL is made to stall", async () => {
    await expectWork(1_000, () => {
      for (const part of ["a.", "a", "a-", "[", "%"]) hostOf(`https://${part.repeat(50_000)}!`);
    });
  });

  const rows = corpus<{ readonly url: string }>("ssrf/urls.dev.json");
  it.skipIf(rows.length === 0)("of published attacks is never the harmless one they pretend to be", () => {
    for (const { url } of rows) {
      const host = hostOf(url);
      if (host !== undefined) expect(host, url).toBe(new URL(url).hostname.replace(/\.$/, ""));
    }
    expect(rows.length).toBeGreaterThan(30);
  });
});

describe("a host pattern", () => {
  it.each([
    ["example.com", "https://example.com/", true],
    ["Example.COM", "https://example.com/", true],
    ["bücher.example", "https://BÜCHER.example/", true],
    ["example.com", "https://www.example.com/", false],
    ["example.com", "https://badexample.com/", false],
    ["*.example.com", "https://www.example.com/", true],
    ["*.example.com", "https://a.b.example.com./", true],
    ["*.example.com", "https://example.com/", false],
    ["*.example.com", "https://evilexample.com/", false],
    ["*.example.com", "https://www.example.com.evil.com/", false],
  ])("%s and %s: %s", (pattern, url, fits) => {
    expect(hostMatcher(pattern)(hostOf(url) ?? "")).toBe(fits);
  });

  it.each([
    "https://example.com",
    "example.com/a",
    "example.com:80",
    "ada@example.com",
    "a.*.com",
    "*",
    "**.com",
    "",
    " ",
  ])("is not %j", (pattern) => {
    expect(hostPatternProblem(pattern)).toMatch(/^n/);
  });
});
