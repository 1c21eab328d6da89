import fc from "fast-check";
import { expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { encodeFrame } from "./encode-frame.ts";
import { FrameReader, readFrame } from "./frames.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

const limits = { maxBytes: 10_000, maxDepth: 40 };
const messages = fc
  .array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 5 }), { minLength: 1, maxLength: 5 })
  .map((list) => JSON.parse(JSON.stringify(list)).filter(isJsonObject) as JsonObject[]);

it("whatever was framed comes back, however the bytes are cut", () => {
  void fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(encodeFrame));
      const reader = new FrameReader({ ...limits, maxBytes: 1_000_000 });
      const got: unknown[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const length = cuts[i % cuts.length] ?? 1;
        got.push(...reader.push(bytes.subarray(at, at + length)));
        at += length;
      }
      expect(got).toEqual(sent);
    }),
  );
});

it("any bytes at all are frames or a broken protocol, never another error", () => {
  void fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        for (const frame of new FrameReader(limits).push(Buffer.from(bytes))) expect(isJsonObject(frame)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolBroken);
      }
    }),
  );
});

it("counts nesting before it parses, and not in texts", () => {
  expect(() => readFrame(Buffer.from(`{"a":${"[".repeat(100_000)}`), 40)).toThrow("nested deeper than 40");
  expect(readFrame(Buffer.from(JSON.stringify({ a: `${"[".repeat(100)}\\"{{` })), 2)).toEqual({
    a: `${"[".repeat(100)}\\"{{`,
  });
});

it("refuses a frame by its length before it has come", () => {
  const reader = new FrameReader({ maxBytes: 10, maxDepth: 4 });
  expect(() => [...reader.push(Buffer.from([0, 0, 0, 11]))]).toThrow("A frame of 11 bytes is larger than 10.");
});
