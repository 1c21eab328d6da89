import { isJsonObject, type JsonObject } from "@postern/core";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FrameReader, frameOf, ProtocolBroken } from "./frames.ts";

const limits = { maxBytes: 10_000, maxDepth: 40 };
const messages = fc
  .array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 5 }), { minLength: 1, maxLength: 5 })
  .map((list) => JSON.parse(JSON.stringify(list)).filter(isJsonObject) as JsonObject[]);

function messagesOf(reader: FrameReader, chunk: Buffer): readonly JsonObject[] {
  return [...reader.push(chunk)].map(({ message }) => message);
}

it("reads every frame back, however the bytes arrive", () => {
  void fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map((message) => frameOf(JSON.stringify(message))));
      const reader = new FrameReader({ ...limits, maxBytes: 1_000_000 });
      const got: unknown[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const length = cuts[i % cuts.length] ?? 1;
        got.push(...messagesOf(reader, bytes.subarray(at, at + length)));
        at += length;
      }
      expect(got).toEqual(sent);
    }),
  );
});

it("reads any bytes as frames or as a broken protocol", () => {
  void fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        for (const message of messagesOf(new FrameReader(limits), Buffer.from(bytes)))
          expect(isJsonObject(message)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolBroken);
      }
    }),
  );
});

/** What a reader makes of a text that arrives in pieces of a few bytes. */
function read(text: string | Buffer, pieceBytes = 3, maxDepth = 40): unknown {
  const body = Buffer.from(text);
  const bytes = Buffer.concat([Buffer.alloc(4), body]);
  bytes.writeUInt32BE(body.length);
  const reader = new FrameReader({ maxBytes: 100_000_000, maxDepth });
  const frames: unknown[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    frames.push(...messagesOf(reader, bytes.subarray(at, at + pieceBytes)));
  expect(frames.length).toBe(1);
  return frames[0];
}

it.each([
  ["is nested too deeply", `{"a":${"[".repeat(50)}${"]".repeat(50)}}`, "nested deeper than 40"],
  ["is no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "not JSON"],
  ["is no object", '["a","b"]', "not a JSON object"],
  ["ends in a text", `{"value":"x`, "not JSON"],
  ["is empty", "", "not JSON"],
])("a frame that %s breaks the protocol", (_, text, message) => {
  expect(() => read(text)).toThrow(message);
});

it("counts nesting while the bytes arrive, and not in texts", () => {
  const text = JSON.stringify({ a: `${"[".repeat(100)}\\"{{` });
  for (const pieceBytes of [1, 2, 7, 1_000]) expect(read(text, pieceBytes, 2)).toEqual(JSON.parse(text));
});

it("refuses a frame with too many values before it is parsed", () => {
  const lists = (count: number): string => `{"value":[${"[],".repeat(count - 1)}[]]}`;
  expect(() => read(lists(1_000_000), 65_536)).toThrow("A frame holds more than 2000000 values.");
  expect(read(lists(10), 65_536)).toEqual({ value: Array(10).fill([]) });
});

it("refuses a frame by its length before its bytes arrive", () => {
  const reader = new FrameReader({ maxBytes: 10, maxDepth: 4 });
  expect(() => [...reader.push(Buffer.from([0, 0, 0, 11]))]).toThrow("A frame of 11 bytes is larger than 10.");
});
