import fastCheck from "fast-check";
import { expect, it } from "vitest";
import { readMessage } from "./message.ts";

const refusedId = (text: string): unknown => {
  const read = readMessage(Buffer.from(text));
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

it.each([
  ["tools/call", { name: "echo", arguments: [1] }, "`arguments` of `tools/call` is [1]; it must be an object."],
  ["tools/call", { name: 5 }, "`name` of `tools/call` is 5; it must be a text."],
  ["tools/call", {}, "`tools/call` needs `name`, a text."],
  ["tools/call", [1], "`params` of `tools/call` is [1]; it must be an object."],
  ["tools/list", { cursor: 5 }, "`cursor` of `tools/list` is 5; it must be a text."],
  ["tools/list", { _meta: "x" }, '`_meta` of `tools/list` is "x"; it must be an object.'],
  ["resources/read", {}, "`resources/read` needs `uri`, a text."],
])("refuses parameters of %s in a sentence: %j", (method, params, message) => {
  const read = readMessage(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })));
  expect(read).toEqual({ refused: { jsonrpc: "2.0", id: 1, error: { code: -32_602, message } } });
});
