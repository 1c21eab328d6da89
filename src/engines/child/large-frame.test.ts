import fc from "fast-check";
import { expect, it } from "vitest";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { FrameReader } from "./frames.ts";
import { LargeFrame } from "./large-frame.ts";
import { ProtocolBroken } from "./protocol-broken.ts";

const limits = { maxBytes: 10_000_000, maxDepth: 40 };
const bounds = { argumentBytes: 40, valueBytes: 60, mostValues: 12, mostNames: 5, largeBytes: 0 };

/** What a reader makes of a text that comes in pieces of these lengths. */
async function read(
  text: string | Buffer,
  cuts: readonly number[] = [1_000_000],
  own: object = {},
): Promise<JsonObject> {
  const body = Buffer.from(text);
  const header = Buffer.alloc(4);
  header.writeUInt32BE(body.length);
  const bytes = Buffer.concat([header, body]);
  const reader = new FrameReader({ ...limits, ...own });
  reader.bound(bounds);
  const frames: (JsonObject | LargeFrame)[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = cuts[i % cuts.length] ?? 1;
    frames.push(...reader.push(bytes.subarray(at, at + length)));
    at += length;
  }
  const [frame] = frames;
  expect(frames.length).toBe(1);
  if (!(frame instanceof LargeFrame)) throw new Error("It was read at once.");
  return await frame.parsed();
}

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
const members = fc.dictionary(fc.constantFrom("arguments", "a", 'q"', "calls", "value", "\\", "é", "cut"), json, {
  maxKeys: 4,
});
const calls = fc.array(fc.record({ place: fc.nat(), arguments: members, line: fc.nat() }), { maxLength: 4 });
const frames = fc.record(
  { step: fc.string(), calls, value: json, printed: fc.array(members, { maxLength: 2 }), image: fc.string() },
  { requiredKeys: ["step"] },
);
const cuts = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 });

function bytesOf(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Signs between values and names. */
function valuesOf(value: Json): number {
  return JSON.stringify(value)
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, "")
    .replaceAll(/[^,:[{]/g, "").length;
}

function namesOf(value: Json): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Math.max(own, ...Object.values(value).map(namesOf));
}

function isTooMuch(value: Json, mostBytes: number): boolean {
  return bytesOf(value) > mostBytes || valuesOf(value) > bounds.mostValues || namesOf(value) > bounds.mostNames;
}

/** The same, by looking at it when all of it is there. */
function cutBy(frame: JsonObject): JsonObject {
  const { calls: asked, value } = frame;
  const cutCalls = Array.isArray(asked)
    ? asked.map((call: Json) => {
        const given = isJsonObject(call) ? (call["arguments"] ?? null) : null;
        if (!isTooMuch(given, bounds.argumentBytes) || !isJsonObject(call)) return call;
        return { ...call, arguments: {}, cutBytes: bytesOf(given) };
      })
    : undefined;
  const isCut = value !== undefined && isTooMuch(value, bounds.valueBytes);
  return {
    ...frame,
    ...(cutCalls !== undefined && { calls: cutCalls }),
    ...(isCut && { value: null, cutBytes: bytesOf(value) }),
  };
}

it("what is larger than it may be is counted and not there, and all else is, however the bytes come", async () => {
  await fc.assert(
    fc.asyncProperty(frames, cuts, async (frame, lengths) => {
      expect(await read(JSON.stringify(frame), lengths)).toEqual(cutBy(frame as JsonObject));
    }),
    { numRuns: 500 },
  );
});

const long = JSON.stringify({ text: "x".repeat(100) });
const longBytes = Buffer.byteLength(long);

it.each([
  ["under a name that is spelled otherwise", `{"calls":[{"\\u0061rguments":${long}}]}`],
  ["given twice", `{"calls":[{"arguments":{},"arguments":${long}}]}`],
  ["with blanks around it", `{ "calls" : [ { "arguments" : ${long}}]}`],
])("arguments %s are measured too", async (_, text) => {
  const { calls: asked } = await read(text, [7]);
  const [call] = Array.isArray(asked) ? asked : [];
  expect(call).toMatchObject({ arguments: {} });
  expect(isJsonObject(call) && Number(call["cutBytes"])).toBeGreaterThanOrEqual(longBytes);
});

it("so many bytes may be kept of a frame, and those that are cut out of it do not count", async () => {
  const asked = `{"arguments":{"a":"${"x".repeat(20)}"}}`;
  const many = `{"calls":[${Array(100).fill(asked).join()}]}`;
  await expect(read(many, [64], { keptBytes: 1_000 })).rejects.toThrow("A frame holds more than 1000 bytes.");
  const large = `{"calls":[{"arguments":{"a":"${"x".repeat(100_000)}"}}]}`;
  expect(await read(large, [64], { keptBytes: 1_000 })).toMatchObject({ calls: [{ cutBytes: 100_008 }] });
});

it.each([
  ["lists in a list", `[${Array(7).fill("[]").join()}]`, `[${Array(6).fill("[]").join()}]`],
  ["names in objects", '{"a":{"b":2,"c":3},"b":{"d":[[[]]]}}', '{"a":{"b":2,"c":3},"b":{"d":[[]]}}'],
  ["names in one object", '{"a":1,"b":2,"c":3,"d":4,"":5,"f":6}', '{"a":1,"b":2,"c":3,"d":4,"":{"f":6}}'],
  ["signs in a text are none", '["[,",1,2,3,4,5,6,7,8,9,0,1,2]', '["[[[[[[[[[[,,\\\\",1,2,3,4]'],
])("so many values and no more may be in arguments: %s", async (_, more, most) => {
  const argumentsOf = async (given: string): Promise<Json | undefined> =>
    (await read(`{"calls":[{"arguments":${given}}]}`, [5]))["calls"];
  expect(await argumentsOf(most)).toEqual([{ arguments: JSON.parse(most) }]);
  expect(await argumentsOf(more)).toEqual([{ arguments: {}, cutBytes: more.length }]);
});

it("so many values may be kept of a frame, and those that are cut out of it do not count", async () => {
  const most = 2_000_000;
  const lists = (count: number): string => `[${"[],".repeat(count - 1)}[]]`;
  await expect(read(`{"junk":${lists(most / 2)}}`)).rejects.toThrow(`A frame holds more than ${most} values.`);
  expect(await read(`{"value":${lists(most / 2)}}`)).toEqual({ value: null, cutBytes: 3 * (most / 2) + 1 });
});

it.each([
  ["is nested too deeply", `{"a":${"[".repeat(50)}${"]".repeat(50)}}`, "nested deeper than 40"],
  ["is nested too deeply where it is cut", `{"value":${"[".repeat(50)}${"]".repeat(50)}}`, "nested deeper than 40"],
  ["is no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "not JSON"],
  ["is no object", '["a","b"]', "not a JSON object"],
  ["ends in the middle of what is measured", `{"value":${long}`, "not JSON"],
  ["ends in a text", `{"value":"x`, "not JSON"],
])("a frame that %s breaks the protocol", async (_, text, message) => {
  await expect(read(text, [3])).rejects.toThrow(message);
});

it("any bytes at all are a frame or a broken protocol, never another error", async () => {
  const pieces = fc.array(
    fc.constantFrom(..."{}[],: ", '"', "\\", '"calls"', '"arguments"', '"value"', "1", "é", "\\u0061"),
  );
  await fc.assert(
    fc.asyncProperty(pieces, cuts, async (parts, lengths) => {
      const found: unknown = await read(parts.join(""), lengths).catch((error: unknown) => error);
      expect(found instanceof ProtocolBroken || isJsonObject(found)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
