import fastCheck from "fast-check";
import { expect, it } from "vitest";
import { readMessage } from "./message.ts";

const refusedId = (text: string | Uint8Array): unknown => {
  const read = readMessage(text);
  return "refused" in read ? read.refused.id : "read";
};

it.each([
  ['{"id":7,"a":1,"a":2}', 7],
  ['{"id":"seven","a":1,"a":2}', "seven"],
  ['{"id":9007199254740993}', null],
  ['{"id":1.5,"a":1,"a":2}', null],
  ['{"id":"\\ud800"}', null],
  ['{"id":{},"a":1,"a":2}', null],
  ['[{"id":7,"a":1,"a":2}]', null],
  ['{"a":1,"a":2}', null],
  ['{"id":7,', null],
  ["", null],
  ['[{"id":7}]', null],
  ['{"id":7}', "read"],
])("a refusal goes to the request it is about, where that can be told: %s", (text, id) => {
  expect(refusedId(text)).toBe(id);
  expect(refusedId(Buffer.from(text))).toBe(id);
});

it("bytes that are no text are refused as such", () => {
  expect(readMessage(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({
    refused: { id: null, error: { code: -32_700, message: "The message is not UTF-8." } },
  });
});

it("never throws, and gives what JSON.parse gives", async () => {
  await fastCheck.assert(
    fastCheck.property(fastCheck.oneof(fastCheck.uint8Array(), fastCheck.json().map(Buffer.from)), (bytes) => {
      const read = readMessage(bytes);
      if ("message" in read) expect(read.message).toEqual(JSON.parse(Buffer.from(bytes).toString()));
    }),
  );
});
