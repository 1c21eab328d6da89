import { expect, it } from "vitest";
import { toRawResult } from "./answer.ts";
import { toolExecutionResult } from "./exchange.ts";

it("text is a text block, nothing is nothing", () => {
  expect(toRawResult("hi")).toEqual({ content: [{ type: "text", text: "hi" }], isError: false });
  expect([toRawResult(undefined), toRawResult(null)]).toEqual([
    { content: [], isError: false },
    { content: [], isError: false },
  ]);
});

it("a result is taken as one, in our spelling, MCP's and [000]'s", () => {
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
    spelled: true,
    isError: false,
  });
  expect(toRawResult({ isError: true, content: "why" })).toEqual({
    content: [{ type: "text", text: "why" }],
    isError: true,
  });
});

it("other JSON is structured content and its text, also where it merely has a member of that name", () => {
  expect(toRawResult({ a: 1 })).toEqual({
    content: [{ type: "text", text: '{"a":1}' }],
    structured: { a: 1 },
    spelled: true,
    isError: false,
  });
  expect(toRawResult(42)).toEqual({
    content: [{ type: "text", text: "42" }],
    structured: 42,
    spelled: true,
    isError: false,
  });
  expect(toRawResult({ content: "of a page", title: "t" })).toMatchObject({
    structured: { content: "of a page", title: "t" },
  });
  expect(toRawResult({ content: [{ type: "text", text: "x" }], pages: 3 })).toMatchObject({
    structured: { pages: 3 },
  });
});

it("reads blocks of every spelling, and keeps unknown ones as their JSON", () => {
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

it("what is no JSON is an error that says so, and never a throw", () => {
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

it("nothing of the tool's own object stays in the result", () => {
  const own = { list: [1] };
  const raw = toRawResult(own);
  own.list.push(2);
  expect(raw.structured).toEqual({ list: [1] });
});

it("what is nested too deep to be walked, or holds half a character, is kept as text that can be kept", () => {
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

it("a large answer is only as much work as its text", () => {
  const started = performance.now();
  expect(toRawResult("x".repeat(200_000_000)).content).toHaveLength(1);
  expect(performance.now() - started).toBeLessThan(1_000);
});
