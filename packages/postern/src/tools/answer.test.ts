import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { toRawResult } from "./answer.ts";
import { toolExecutionResult } from "./exchange.ts";

it("text is a text block, nothing is nothing", async () => {
  expect(toRawResult("hi")).toEqual({ content: [{ type: "text", text: "hi" }], isError: false });
  expect([toRawResult(undefined), toRawResult(null)]).toEqual([
    { content: [], isError: false },
    { content: [], isError: false },
  ]);
});

it("accepts a result in our form, MCP's and [000]'s", async () => {
  const content = [{ type: "text" as const, text: "no" }];
  expect(toRawResult({ content, isError: true, retryable: true })).toEqual({
    content,
    isError: true,
    retryable: true,
  });
  expect(toRawResult({ content, structured: { n: 1 } })).toEqual({
    content,
    structured: { n: 1 },
    isError: false,
  });
  expect(toRawResult({ content, structuredContent: { n: 1 }, _meta: {} })).toEqual({
    content,
    structured: { n: 1 },
    isError: false,
  });
  expect(
    toRawResult({
      kind: "tool_result",
      call_id: "",
      name: "t",
      content,
      is_error: true,
      metadata: {},
      structured_content: {},
    }),
  ).toEqual({ content, isError: true });
  expect(toRawResult(toolExecutionResult({ content, isError: true }))).toEqual({
    content,
    isError: true,
  });
  expect(toRawResult({ structured: [1, 2] })).toEqual({
    content: [{ type: "text", text: "[1,2]" }],
    structured: [1, 2],
    isJsonText: true,
    isError: false,
  });
  expect(toRawResult({ isError: true, content: "why" })).toEqual({
    content: [{ type: "text", text: "why" }],
    isError: true,
  });
});

it("other JSON is structured content and its text, also where it merely has a member of that name", async () => {
  expect(toRawResult({ a: 1 })).toEqual({
    content: [{ type: "text", text: '{"a":1}' }],
    structured: { a: 1 },
    isJsonText: true,
    isError: false,
  });
  expect(toRawResult(42)).toEqual({
    content: [{ type: "text", text: "42" }],
    structured: 42,
    isJsonText: true,
    isError: false,
  });
  expect(toRawResult({ content: "of a page", title: "t" })).toMatchObject({
    structured: { content: "of a page", title: "t" },
  });
  expect(toRawResult({ content: [{ type: "text", text: "x" }], pages: 3 })).toMatchObject({
    structured: { pages: 3 },
  });
});

it("reads blocks of every form, and keeps unknown ones as their JSON", async () => {
  const content = [
    { type: "image", mimeType: "image/gif", data: "R0" },
    { type: "image", media_type: "image/jpeg", data: new Uint8Array([1]) },
    { type: "image", data: "AA" },
    { type: "resource", resource: { uri: "a:b", text: "t", mimeType: "text/plain" } },
    { type: "resource_link", uri: "a:c", name: "n" },
    { type: "hologram", beam: 1 },
    { type: "text" },
  ];
  expect(toRawResult({ content }).content).toEqual([
    { type: "image", mediaType: "image/gif", data: "R0" },
    { type: "image", mediaType: "image/jpeg", data: "AQ==" },
    { type: "image", mediaType: "image/png", data: "AA" },
    { type: "resource", uri: "a:b", text: "t", mediaType: "text/plain" },
    { type: "link", uri: "a:c", name: "n" },
    { type: "text", text: '{"type":"hologram","beam":1}' },
    { type: "text", text: '{"type":"text"}' },
  ]);
  expect(toRawResult(Buffer.from("hi")).content).toEqual([
    { type: "file", mediaType: "application/octet-stream", data: "aGk=" },
  ]);
});

it("turns a value that is no JSON into an error, never a throw", async () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const hostile = {
    get content(): never {
      throw new Error("getter");
    },
  };
  const proxy = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error("trap");
      },
      get: () => {
        throw new Error("trap");
      },
    },
  );
  const badBlock = { content: [{ type: "odd", self: cycle }] };
  for (const answer of [
    cycle,
    1n,
    { n: 1n },
    () => 1,
    Symbol("s"),
    hostile,
    proxy,
    badBlock,
    { structured: cycle },
    { structured: () => 1 },
  ]) {
    const raw = toRawResult(answer);
    expect(raw.isError).toBe(true);
    expect(raw.content).toEqual([{ type: "text", text: expect.stringMatching(/^The tool ran, but/) }]);
  }
});

it("nothing of the tool's own object stays in the result", async () => {
  const own = { list: [1] };
  const raw = toRawResult(own);
  own.list.push(2);
  expect(raw.structured).toEqual({ list: [1] });
});

it("keeps deep values and half characters as text", async () => {
  const deep: unknown = JSON.parse("[".repeat(3_000) + "]".repeat(3_000));
  expect(toRawResult(deep)).toEqual({
    content: [{ type: "text", text: "[".repeat(3_000) + "]".repeat(3_000) }],
    isError: false,
  });
  const half = "a\ud800";
  expect(toRawResult(half).content).toEqual([{ type: "text", text: "a\ufffd" }]);
  expect(toRawResult({ half, typed: "\\ud800" }).structured).toEqual({
    half: "a\ufffd",
    typed: "\\ud800",
  });
});

it.each([100_000, 400_000])(
  "an answer of %i bytes, the limit, is taken, of whatever kind, and one byte more is not",
  async (limit) => {
    const image = (length: number) => ({ content: [{ type: "image", data: "A".repeat(length) }] });
    const sizes = [
      (more: number) => "x".repeat(limit + more),
      (more: number) => "ü".repeat(limit / 2 + more),
      (more: number) => Buffer.alloc((limit / 4) * 3 + more),
      (more: number) => ["x".repeat(limit - 4 + more)],
      (more: number) => ({ structured: "x".repeat(limit - 2 + more) }),
      (more: number) => ({ toJSON: () => "x".repeat(limit - 2 + more) }),
      (more: number) => Array.from({ length: limit / 2 + more - 2 }, () => 1).concat(10),
    ];
    for (const sized of sizes) {
      expect(toRawResult(sized(0), limit).unusable).toBeUndefined();
      const { content, unusable } = toRawResult(sized(1), limit);
      expect(unusable).toBe(true);
      expect(content).toMatchObject([
        { text: expect.stringContaining(`more than ${limit} bytes, the most that is taken`) },
      ]);
    }
    expect(toRawResult(image(limit - 100), limit).unusable).toBeUndefined();
    expect(toRawResult(image(limit), limit).unusable).toBe(true);
  },
);

it("a structured answer of any size equals what JSON makes of it", async () => {
  const rows = Array.from({ length: 60_000 }, (_, id) => ({
    ...{ id, half: "a\ud800", "odd\ud800 key": null, at: new Date(0), none: undefined, run: () => 1 },
    numbers: [Number.NaN, -0, 1e21, Object(7)],
    list: [undefined, Symbol("s"), "\u2028"],
    own: { toJSON: (name: string) => `as ${name}` },
  }));
  const raw = toRawResult({ rows });
  const text = JSON.stringify({ rows }).replaceAll("\\ud800", "\ufffd");
  expect(raw.content).toEqual([{ type: "text", text }]);
  expect(raw.structured).toEqual(JSON.parse(text));
});

it("keeps long texts as JSON does, wherever a chunk ends", async () => {
  const piece = 32 * 1024;
  const texts = [
    `${"x".repeat(piece - 1)}💥${'ü\\"\n'.repeat(piece)}`,
    "💥".repeat(2 * piece),
    `${"y".repeat(piece - 1)}\ud83d${"y".repeat(2 * piece)}`,
    `${"z".repeat(piece)}\udca5`,
  ];
  const { structured, content } = toRawResult({ texts, last: "" });
  const whole = { texts: texts.map((text) => text.toWellFormed()), last: "" };
  expect(isDeepStrictEqual(structured, whole)).toBe(true);
  expect(isDeepStrictEqual(content, [{ type: "text", text: JSON.stringify(whole) }])).toBe(true);
});

it("stops at the limit for a value that is endless as JSON", async () => {
  let lines: unknown = "x".repeat(1_000);
  for (let level = 0; level < 40; level += 1) lines = Array.from({ length: 10 }, () => lines);
  expect(toRawResult(lines)).toMatchObject({ unusable: true });
  expect(toRawResult({ content: [{ type: "odd", lines }] })).toMatchObject({ unusable: true });
});

it("reports a large answer with a cycle or a throwing getter", async () => {
  const cycle: unknown[] = ["x".repeat(200_000)];
  cycle.push({ cycle });
  const broken = {
    much: "x".repeat(200_000),
    get late(): never {
      throw new Error("a getter's own");
    },
  };
  const said = async (answer: unknown) => toRawResult(answer).content;
  expect(await said(cycle)).toMatchObject([{ text: expect.stringContaining("a cycle is not JSON") }]);
  expect(await said({ structured: broken })).toMatchObject([{ text: expect.stringContaining("a getter's own") }]);
  expect(await said([1n, "x".repeat(200_000)])).toMatchObject([
    { text: expect.stringContaining("a bigint is not JSON") },
  ]);
});
