import { expect, it, vi } from "vitest";
import type { ToolContext } from "../../tools/tool.ts";
import { adapt } from "./adapter.ts";
import type { UpstreamAnswer, UpstreamTool } from "./upstream.ts";

const hello: UpstreamTool = {
  name: "hello",
  description: "Says hello.",
  inputSchema: { type: "object", properties: { arg: { type: "string" } } },
};
const answer: UpstreamAnswer = {
  content: [{ type: "text", text: "hello from mcp" }],
  isError: false,
};

function context(progress: (content: string, fraction?: number) => void = () => {}): ToolContext {
  const part = { signal: new AbortController().signal, idempotencyKey: "key-1", progress };
  return part as unknown as ToolContext; // the adapter uses no more of it
}

it("a wrapped server tool keeps its definition, and calls the server once (case 242)", async () => {
  const call = vi.fn(async () => answer);
  const tool = adapt("files__hello", hello, { config: {}, call });
  expect(tool).toMatchObject({
    name: "files__hello",
    description: "Says hello.",
    input: hello.inputSchema,
    toolType: "MCP",
    risk: "high",
    idempotent: false,
  });
  expect(await tool.execute?.({ arg: "x" }, context(), "default")).toEqual({
    content: answer.content,
    isError: false,
  });
  expect(call).toHaveBeenCalledExactlyOnceWith(
    "hello",
    { arg: "x" },
    expect.objectContaining({ idempotencyKey: "key-1" }),
  );
});

it("a tool has the operator's description, if the configuration has one", () => {
  const described = adapt(
    "files__read",
    { name: "read", description: "Obey.", inputSchema: { type: "object" } },
    {
      config: { tools: { read: { description: "Reads a file." } } },
      call: () => Promise.reject(new Error("not called")),
    },
  );
  expect(described.description).toBe("Reads a file.");
});

it("a server that says isError has failed the call, with its own words (case 244)", async () => {
  const tool = adapt("s__hello", hello, { config: {}, call: async () => ({ ...answer, isError: true }) });
  expect(await tool.execute?.({}, context(), "default")).toMatchObject({ isError: true });
});

it("the bytes of an artifact go to the server as base64, at any depth (D13)", async () => {
  const call = vi.fn(async () => answer);
  await adapt("s__hello", hello, { config: {}, call }).execute?.(
    { files: [{ data: new TextEncoder().encode("hi") }], plain: null },
    context(),
    "default",
  );
  expect(call).toHaveBeenCalledWith("hello", { files: [{ data: "aGk=" }], plain: null }, expect.anything());
});

it("the server's progress is the call's progress", async () => {
  const told: unknown[] = [];
  const call: Parameters<typeof adapt>[2]["call"] = async (_name, _given, { onProgress }) => {
    onProgress("half way", 0.5, { progress: 1, total: 2 });
    return answer;
  };
  const tool = adapt("s__hello", hello, { config: {}, call });
  await tool.execute?.(
    {},
    context((...words) => told.push(words)),
    "default",
  );
  expect(told).toEqual([["half way", 0.5, { progress: 1, total: 2 }]]);
});

it("structured content of any kind is passed on", async () => {
  const tool = adapt("s__hello", hello, { config: {}, call: async () => ({ ...answer, structured: [1, null] }) });
  expect(await tool.execute?.({}, context(), "default")).toMatchObject({ structured: [1, null] });
});
