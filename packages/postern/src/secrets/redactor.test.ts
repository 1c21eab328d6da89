import { RuntimeFault } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { threadMs } from "../../../../test/fakes/machine-speed.ts";
import { createRedactor, mask } from "./redactor.ts";
import type { Redactor } from "./secret-store.ts";

const random = fc.string({ unit: "binary", maxLength: 60 });
const secretText = fc
  .oneof(
    fc.string({ unit: "grapheme-ascii", minLength: 6, maxLength: 80 }),
    fc.string({ unit: "grapheme", minLength: 6, maxLength: 30 }),
    fc.base64String({ minLength: 8, maxLength: 64 }),
    fc.stringMatching(/^[a-z]{6,9}$/),
  )
  .filter((text) => text.trim().length >= 6);

/** How a value is written where we do not see it: an encoder of its own, not the redactor's. */
const encoders: Readonly<Record<string, (secret: string, left: string, right: string) => string>> = {
  raw: (secret, left, right) => left + secret + right,
  json: (secret, left, right) => JSON.stringify({ [left]: left + secret + right }),
  "json in json": (secret, left, right) => JSON.stringify({ body: JSON.stringify({ text: left + secret + right }) }),
  url: (secret, left, right) =>
    `https://example.org/?q=${encodeURIComponent(`${left.toWellFormed()}${secret}${right.toWellFormed()}`)}&x=1`,
  form: (secret, left, right) => new URLSearchParams({ [left]: secret, right }).toString(),
  base64: (secret, left, right) => Buffer.from(left + secret + right).toString("base64"),
  base64url: (secret, left, right) => Buffer.from(left + secret + right).toString("base64url"),
  hex: (secret, left, right) => Buffer.from(left + secret + right).toString("hex"),
  "upper hex": (secret, left, right) =>
    Buffer.from(left + secret + right)
      .toString("hex")
      .toUpperCase(),
  "base64 wrapped at 64": (secret, left, right) => wrapped(left + secret + right, 64, "\n"),
  "base64 wrapped at 76": (secret, left, right) => wrapped(left + secret + right, 76, "\r\n"),
  "wrapped base64 in json": (secret, left, right) =>
    JSON.stringify({ data: wrapped(left + secret + right, 76, "\r\n") }),
  "indented wrapped hex": (secret, left, right) =>
    `key: |\n        ${(
      Buffer.from(left + secret + right)
        .toString("hex")
        .match(/.{1,60}/g) ?? []
    ).join("\n        ")}`,
  "utf-16 in base64": (secret, left, right) => Buffer.from(left + secret + right, "utf16le").toString("base64"),
  "utf-16, big end first, in hex": (secret, left, right) =>
    Buffer.from(left + secret + right, "utf16le")
      .swap16()
      .toString("hex"),
  "utf-16 read as latin-1": (secret, left, right) => Buffer.from(left + secret + right, "utf16le").toString("latin1"),
  "hex with colons": (secret, left, right) => bytesOf(left + secret + right).join(":"),
  "upper hex with blanks": (secret, left, right) =>
    bytesOf(left + secret + right)
      .join(" ")
      .toUpperCase(),
  "hex of a C array": (secret, left, right) =>
    `{\n  ${bytesOf(left + secret + right)
      .map((byte) => `0x${byte}`)
      .join(",\n  ")}\n}`,
  "utf-16 in hex with dashes": (secret, left, right) => bytesOf(left + secret + right, "utf16le").join("-"),
  xxd: (secret, left, right) => dump(left + secret + right, xxdLine),
  "xxd in json": (secret, left, right) => JSON.stringify({ stdout: dump(left + secret + right, xxdLine) }),
  "hexdump -C": (secret, left, right) => dump(left + secret + right, barLine),
  "od -tx1": (secret, left, right) => dump(left + secret + right, odLine),
  "bytes in json": (secret, left, right) => JSON.stringify([...Buffer.from(left + secret + right)]),
  "a buffer in indented json": (secret, left, right) => JSON.stringify(Buffer.from(left + secret + right), null, 4),
  "a typed array in json": (secret, left, right) =>
    JSON.stringify({ bytes: new Uint8Array(Buffer.from(left + secret + right)) }),
  "quoted-printable": (secret, left, right) => quotedPrintable(left + secret + right),
  "quoted-printable in json": (secret, left, right) => JSON.stringify({ body: quotedPrintable(left + secret + right) }),
  "indented wrapped base64": (secret, left, right) => `key: |\n    ${wrapped(left + secret + right, 64, "\n    ")}`,
};

function bytesOf(text: string, encoding: BufferEncoding = "utf8"): readonly string[] {
  return Buffer.from(text, encoding).toString("hex").match(/../g) ?? [];
}

type DumpLine = (offset: number, bytes: Buffer) => string;

function dump(text: string, line: DumpLine): string {
  const bytes = Buffer.from(text);
  const starts = Array.from({ length: Math.ceil(bytes.length / 16) }, (_, i) => 16 * i);
  return `${starts.map((start) => line(start, bytes.subarray(start, start + 16))).join("\n")}\n`;
}
const printable = (bytes: Buffer): string => bytes.toString("latin1").replace(/[^ -~]/g, ".");
const xxdLine: DumpLine = (offset, bytes) =>
  `${offset.toString(16).padStart(8, "0")}: ${(bytes.toString("hex").match(/.{1,4}/g) ?? []).join(" ").padEnd(39)}  ${printable(bytes)}`;
const barLine: DumpLine = (offset, bytes) => {
  const [first = "", second = ""] = [bytes.subarray(0, 8), bytes.subarray(8)].map((half) =>
    (half.toString("hex").match(/../g) ?? []).join(" "),
  );
  return `${offset.toString(16).padStart(8, "0")}  ${`${first}  ${second}`.padEnd(48)}  |${printable(bytes)}|`;
};
const odLine: DumpLine = (offset, bytes) =>
  `${offset.toString(8).padStart(7, "0")} ${(bytes.toString("hex").match(/../g) ?? []).join(" ")}`;

/** As mail programs write it: 76 characters a line, all that is not plain as its bytes. */
function quotedPrintable(text: string): string {
  const marked = `=3D${text}=3D`; // its neighbours
  const tokens = [...Buffer.from(marked)].map((byte) =>
    byte >= 33 && byte <= 126 && byte !== 61
      ? String.fromCharCode(byte)
      : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  );
  let lines = "";
  let width = 0;
  for (const token of tokens) {
    if (width + token.length > 75) {
      lines += "=\r\n";
      width = 0;
    }
    lines += token;
    width += token.length;
  }
  return lines;
}

function wrapped(text: string, width: number, lineBreak: string): string {
  return (
    Buffer.from(text)
      .toString("base64")
      .match(new RegExp(`.{1,${width}}`, "g")) ?? []
  ).join(lineBreak);
}

/** Everything that can be decoded back out of a text, by brute force: every run of an alphabet, unwrapped, at every offset. */
function decoded(text: string): string {
  const flat = text.replace(/(\\r)?\\n *|\r?\n */g, "");
  const runs = [text, flat].flatMap((form) => [
    ...(form.match(/[A-Za-z0-9+/_-]{6,}/g) ?? []),
    ...(form.match(/[0-9a-fA-F]{12,}/g) ?? []),
  ]);
  const plain = runs.flatMap((run) => [
    ...[0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), "base64").toString("latin1")),
    ...[0, 1].map((skip) => Buffer.from(run.slice(skip), "hex").toString("latin1")),
  ]);
  return plain.join("\0");
}

function knowing(...values: readonly string[]): Redactor {
  const redactor = createRedactor();
  for (const value of values) redactor.learn(value);
  return redactor;
}

describe("exact values", () => {
  it("gives the same string back while nothing is known, and when nothing is found", () => {
    const text = "a plain text\nwith lines";
    expect(createRedactor().redact(text)).toBe(text);
    expect(knowing("hunter2hunter2").redact(text)).toBe(text);
  });

  it("masks a value each time it occurs and keeps what is around it", () => {
    expect(knowing("hunter2").redact("a hunter2, b hunter2hunter2.")).toBe(`a ${mask}, b ${mask}.`);
  });

  it("masks values that overlap without leaving the end of the second", () => {
    expect(knowing("abcdef", "defghi").redact("xabcdefghiy")).toBe(`x${mask}y`);
  });

  it.each(["hunt2", " hunt2\n", "      \t", ""])("refuses %j, which has fewer than six characters", (value) => {
    expect(() => createRedactor().learn(value)).toThrow(
      expect.objectContaining({
        code: "request_invalid",
        message: expect.stringContaining("has fewer than 6 characters"),
      }),
    );
  });

  it("refuses a value shorter than six characters and does not repeat it", () => {
    const refused = (): void => createRedactor().learn("hunt2");
    expect(refused).toThrow(RuntimeFault);
    expect(refused).not.toThrow(/hunt2/);
  });

  it("masks a value that was learned with a line break behind it and is met without", () => {
    expect(knowing("hunter2hunter2\n").redact("is hunter2hunter2 here")).toBe(`is ${mask} here`);
  });

  it("knows a value from the moment it is learned, also after the first search", () => {
    const redactor = knowing("first-value");
    expect(redactor.finds("second-value")).toBe(false);
    redactor.learn("second-value");
    expect(redactor.finds("a second-value")).toBe(true);
    expect(redactor.redact("first-value second-value")).toBe(`${mask} ${mask}`);
  });

  it("masks a key of several lines also with the other system's line ends", () => {
    const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----";
    expect(knowing(key).redact(`a ${key.replaceAll("\n", "\r\n")} b`)).toBe(`a ${mask} b`);
    expect(knowing(key).redact(JSON.stringify(key))).toBe(`"${mask}"`);
  });

  it("leaves the lines of prose as they are", () => {
    const text = "abcdefghijklmnop\nqrstuvwxyz and\nmore";
    expect(knowing("hunter2hunter2").redact(text)).toBe(text);
  });
});

describe("every encoding", () => {
  for (const [name, encode] of Object.entries(encoders)) {
    it(`finds and masks ${name} at any place, whole or in pieces`, async () => {
      await fc.assert(
        fc.property(secretText, random, random, (secret, left, right) => {
          const redactor = knowing(secret);
          const text = encode(secret, left, right);
          expect(redactor.finds(text)).toBe(true);
          const clean = redactor.redact(text);
          expect(clean).toContain(mask);
          expect(redactor.finds(clean.replaceAll(mask, "\u0000"))).toBe(false);
        }),
        { numRuns: 300 },
      );
    });
  }

  it("leaves nothing that can be decoded: forty canaries in every encoding and every kind of text", () => {
    const canaries = Array.from(
      { length: 40 },
      (_, i) => `canary-${i}-${'Zq7/+=&é"\\ x'.slice(i % 5)}-${(i * 7919).toString(36)}!tail`,
    );
    const redactor = knowing(...canaries);
    const sinks: readonly ((text: string) => string)[] = [
      (text) => text,
      (text) => `2026-11-20T12:00:00Z ERROR upstream said ${text} (retrying)`,
      (text) =>
        JSON.stringify({
          event: "tool_call.failed",
          error: { message: text, stack: `Error: ${text}\n    at run (tool.js:1:1)` },
        }),
      (text) => `event: ended\ndata: ${JSON.stringify({ text })}\n\n`,
      (text) => `Authorization: Basic ${Buffer.from(`user:${text}`).toString("base64")}`,
      (text) => `# Result\n\n> ${text}\n\n\`\`\`\n${text}\n\`\`\``,
      (text) => `GET /search?q=${encodeURIComponent(text.toWellFormed())} HTTP/1.1`,
    ];
    const leaks: string[] = [];
    for (const canary of canaries) {
      for (const [name, encode] of Object.entries(encoders)) {
        for (const [place, sink] of sinks.entries()) {
          const outer = name === "raw" || place < 4 ? sink : undefined; // an encoding of an encoding is promised for JSON alone
          if (outer === undefined) continue;
          const clean = redactor.redact(
            outer(encode(canary, "some words before ", " and after them, some more of it")),
          );
          const seen = `${clean}\0${decoded(clean)}`;
          const needles = [
            canary,
            Buffer.from(canary).toString("latin1"),
            JSON.stringify(canary).slice(1, -1),
            encodeURIComponent(canary),
          ];
          if (needles.some((needle) => seen.includes(needle))) leaks.push(`${canary} as ${name} in sink ${place}`);
        }
      }
    }
    expect(leaks).toEqual([]);
  });

  it("masks the bytes of a value, and the whole lines of a dump that hold it", () => {
    const redactor = knowing("hunter2hunter2");
    const bytes = bytesOf("-hunter2hunter2-");
    expect(redactor.redact(`id ${bytes.join(":")} end`)).toBe(`id 2d:${mask}:2d end`);
    expect(redactor.redact(JSON.stringify({ data: [...Buffer.from("-hunter2hunter2-")], n: 1 }))).toBe(
      `{"data":[45,${mask},45],"n":1}`,
    );
    const lines = dump(`${"x".repeat(40)}hunter2hunter2${"y".repeat(40)}`, xxdLine).split("\n");
    expect(redactor.redact(lines.join("\n")).split("\n")).toEqual([...lines.slice(0, 2), mask, ...lines.slice(4)]);
    expect(redactor.redact("a=3D hunter2=\r\nhunter2 =C3=A9")).toBe(`a=3D ${mask} =C3=A9`);
  });

  it("leaves lists of numbers, times and dumps without a value as they are", () => {
    const text = `2026-11-27 23:45:18 10,20,30,40,50,60,70 550e8400-e29b-41d4-a716-446655440000\n${dump("ordinary text of two lines", barLine)}`;
    expect(knowing("hunter2hunter2").redact(text)).toBe(text);
  });

  it.each(["12:", "ab cd ", "10,", "00000000: 6162 6364  abcd\n", "=3D", "=\n", "0x", "\n,\n"])(
    "reads a long text of %j in linear time",
    (piece) => {
      const redactor = knowing("hunter2hunter2");
      const timeOf = (length: number): number => {
        const text = piece.repeat(length / piece.length);
        const times = Array.from({ length: 3 }, () => {
          const start = process.threadCpuUsage(); // another process takes none of it
          redactor.redact(text);
          return threadMs(start);
        });
        return Math.min(...times);
      };
      timeOf(50_000);
      expect(timeOf(800_000)).toBeLessThan(100 * (timeOf(50_000) + 1)); // 256 times if it were quadratic
    },
  );

  it("keeps the line break behind a value that ends with its line", () => {
    const secret = "fourty-eight-characters-make-a-line-of-sixtyfour"; // of base64, that is
    const text = wrapped(`${"y".repeat(48)}${secret}${"z".repeat(48)}`, 64, "\n");
    const [first, , last] = text.split("\n");
    expect(knowing(secret).redact(text)).toBe(`${first}\n${mask}\n${last}`);
  });
});
