import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, mask } from "./redactor.ts";

/** Characters that some encoder escapes, and what looks like an escape by itself. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...`"'&<>+/\\%=;# \n\t@:?é€😀x`, "&amp;", "%41", "\\n", "\\u0041"),
    fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 1 }),
  ),
  maxLength: 16,
});
const secretText = fc.tuple(hostile, fc.stringMatching(/^[a-zA-Z0-9]{6,9}$/), hostile).map((parts) => parts.join(""));

/** In two kinds of escapes at once a value is found when it holds no beginning of a third. */
const simplerText = secretText.filter((text) => !/[\\%]/.test(text));

/** Stands between a value and its neighbours, so that the end of one and the start of the other make no escape. */
const between = "zz";

type Encode = (text: string) => string;

function each(text: string, signs: RegExp, write: (code: number) => string): string {
  return text.replace(signs, (sign) => write(sign.codePointAt(0) ?? 0));
}
function units(text: string, signs: RegExp, write: (digits: string) => string): string {
  return text.replace(signs, (unit) => write(unit.charCodeAt(0).toString(16).padStart(4, "0")));
}
function withNames(text: string, names: Readonly<Record<string, string>>): string {
  return [...text].map((sign) => names[sign] ?? sign).join("");
}
const upper = (digits: string): string => `\\u${digits.toUpperCase()}`;
const lower = (digits: string): string => `\\u${digits}`;
const json = (value: unknown): string => JSON.stringify(value);

const encoders: Readonly<Record<string, Encode>> = {
  "XML, text nodes": (text) => withNames(text, { "&": "&amp;", "<": "&lt;" }),
  "XML, attributes": (text) =>
    withNames(text, {
      "&": "&amp;",
      "<": "&lt;",
      ">": "&gt;",
      '"': "&quot;",
      "'": "&apos;",
      "\n": "&#xA;",
      "\t": "&#x9;",
    }),
  "HTML of Python": (text) => withNames(text, { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" }),
  "HTML of Go": (text) => withNames(text, { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" }),
  "HTML of PHP": (text) =>
    withNames(text, {
      "&": "&amp;",
      "<": "&lt;",
      ">": "&gt;",
      '"': "&quot;",
      "'": "&#039;",
      é: "&eacute;",
      "€": "&euro;",
    }),
  "HTML, all but letters and digits in hex": (text) =>
    each(text, /[^a-zA-Z0-9]/gu, (code) => `&#x${code.toString(16)};`),
  "HTML, upper hex with leading zeros": (text) =>
    each(text, /[^a-zA-Z0-9]/gu, (code) => `&#X${code.toString(16).toUpperCase().padStart(6, "0")};`),
  "HTML, every character": (text) => each(text, /./gsu, (code) => `&#${code};`),
  "JSON of Go": (text) => units(json(text), /[&<>]/g, lower),
  "JSON of .NET": (text) => units(JSON.stringify(text), /[^\x20-\x7e]|[&<>+'`]/g, upper).replaceAll('\\"', "\\u0022"),
  "JSON of .NET in lower hex": (text) => units(json(text), /[^\x20-\x7e]|[&<>+'`]/g, lower),
  "JSON of PHP": (text) => units(json(text).replaceAll("/", "\\/"), /[^\x20-\x7e]/g, lower),
  "JSON in JSON in JSON": (text) => json(json(json(text))),
  "JSON of Go in JSON of .NET": (text) => units(json(units(json(text), /[&<>]/g, lower)), /[&<>+'`]/g, upper),
  "Python repr": (text) => `'${text.replace(/[\\']/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t")}'`,
  "Python quote": (text) =>
    encodeURIComponent(text)
      .replaceAll("%2F", "/")
      .replace(/[!'()*]/g, percent),
  "Python quote_plus": (text) =>
    encodeURIComponent(text)
      .replaceAll("%20", "+")
      .replace(/[!'()*]/g, percent),
  "percent-encoded in lower hex": (text) =>
    encodeURIComponent(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  "every byte percent-encoded": (text) => [...Buffer.from(text)].map((byte) => hexByte("%", byte)).join(""),
  "user info of a URL": (text) => {
    const url = new URL("https://example.org/");
    url.password = text.replaceAll("%", "%25"); // the setter leaves `%`
    return url.href;
  },
  "query of a URL": (text) => {
    const url = new URL("https://example.org/");
    url.searchParams.set("q", text);
    return url.href;
  },
  CSV: (text) => `"${text.replaceAll('"', '""')}"`,
  SQL: (text) => `'${text.replaceAll("'", "''")}'`,
};

const nested: Readonly<Record<string, Encode>> = {
  "a URL in HTML in JSON": (text) => json(`<a href="/?a=1&amp;q=${encodeURIComponent(text)}">`),
  "HTML in JSON of Go": (text) =>
    units(json(withNames(text, { "&": "&amp;", "<": "&lt;", '"': "&#34;" })), /[&<>]/g, lower),
  "base64 in a form": (text) => new URLSearchParams({ data: Buffer.from(text).toString("base64") }).toString(),
  "quoted for a shell": (text) => `'${text.replaceAll("'", `'"'"'`)}'`,
  "quoted for a shell with a backslash": (text) => `'${text.replaceAll("'", "'\\''")}'`,
};

function percent(sign: string): string {
  return hexByte("%", sign.charCodeAt(0));
}
function hexByte(sign: string, byte: number): string {
  return sign + byte.toString(16).toUpperCase().padStart(2, "0");
}

describe("escaped values", () => {
  for (const [encodes, secrets] of [
    [encoders, secretText],
    [nested, simplerText],
  ] as const)
    for (const [name, encode] of Object.entries(encodes))
      it(`masks a value in ${name}`, async () => {
        await fc.assert(
          fc.property(secrets, hostile, hostile, (secret, left, right) => {
            const redactor = createRedactor();
            redactor.learn(secret);
            const text = encode(left + between + secret + between + right);
            expect(redactor.finds(text)).toBe(true);
            const clean = redactor.redact(text);
            expect(clean).toContain(mask);
            expect(redactor.finds(clean.replaceAll(mask, "\u0000"))).toBe(false);
          }),
          { numRuns: 200 },
        );
      });

  it("keeps everything around a value, and JSON stays JSON", () => {
    const secret = `p@ss & <"w+rd'> \\é/`;
    const redactor = createRedactor();
    redactor.learn(secret);
    const inner = units(json({ user: "ann", password: secret, more: 'a "b" & c' }), /[&<>+']/g, upper);
    const clean = redactor.redact(json({ body: json({ inner }) }));
    const outer = JSON.parse(clean) as { readonly body: string };
    const middle = JSON.parse(outer.body) as { readonly inner: string };
    expect(JSON.parse(middle.inner)).toEqual({ user: "ann", password: mask, more: 'a "b" & c' });
    expect(redactor.redact(`<a b="${secret.replaceAll("&", "&amp;").replaceAll('"', "&#x0022;")}">1 &lt; 2</a>`)).toBe(
      `<a b="${mask}">1 &lt; 2</a>`,
    );
    expect(redactor.redact(`https://ann:${encodeURIComponent(secret)}@example.org/a%20b`)).toBe(
      `https://ann:${mask}@example.org/a%20b`,
    );
  });

  it("leaves escaped text without a value as it is", () => {
    const redactor = createRedactor();
    redactor.learn("hunter2&hunter2");
    const text = `{"a":"b\\n\\u0026 100% &amp; &nosuch; %zz \\"} ${"\\".repeat(100)}`;
    expect(redactor.redact(text)).toBe(text);
  });

  it.each([
    ["caf\u00e9-paris", "caf%E9-paris"],
    ["\u00fcber-secret", "%FCber-secret"],
    ["\u00e9\u00e9-secret", "%e9%E9-secret"],
    ["secret-\u00e2", "secret-%E2"],
  ])("masks %j in percent-encoded Latin-1", (secret, text) => {
    const redactor = createRedactor();
    redactor.learn(secret);
    expect(redactor.redact(`q=${text}&x=1`)).toBe(`q=${mask}&x=1`);
  });

  it("finds a value that holds what looks like an escape, raw and escaped once more", () => {
    for (const secret of ["a%41b%20c%2Fd", "x&amp;y&lt;zzzzz", String.raw`C:\new\table\u0041`, "it's '\"'\"' 100%25"]) {
      const redactor = createRedactor();
      redactor.learn(secret);
      for (const text of [secret, json(secret), json(json(secret)), encodeURIComponent(secret)])
        expect(redactor.redact(`zz${text}zz`)).toContain(mask);
    }
  });
});
