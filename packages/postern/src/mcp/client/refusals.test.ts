import { expect, it, onTestFinished } from "vitest";
import { rawHttp, reply } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime, type Runtime, type ServerConfig } from "../../index.ts";

async function open(server: ServerConfig): Promise<Runtime> {
  const runtime = await createRuntime({
    servers: { one: { ...server, risk: "medium" } },
    policy: { maxRiskUnapproved: "high" },
  });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

it("a tool with an output schema that answers with text alone has run: its text, and a warning", async () => {
  const runtime = await open({ command: process.execPath, args: ["test/fakes/raw-server.ts"] });
  const outcome = await runtime.invoke({ tool: "one__shaped" });
  expect(outcome).toMatchObject({ status: "ok", content: [{ text: "done" }, { type: "text" }] });
  expect(outcome.text).toContain("declares structured output, and its server answered without it");
  expect(await runtime.calls.list({ state: "ok" })).toHaveLength(1);
});

it("structured content that does not fit the tool's own schema is a result all the same", async () => {
  const { url } = await rawHttp(({ method, id }, response) => {
    const outputSchema = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
    const tools = [{ name: "t", inputSchema: { type: "object" }, outputSchema }];
    if (method === "tools/list") return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result: { tools } }));
    if (method !== "tools/call") return false;
    return reply(response, `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"sum":1}}}`);
  });
  const outcome = await (await open({ url })).invoke({ tool: "one__t" });
  expect(outcome).toMatchObject({ status: "ok", structured: { sum: 1 } });
});

it("an error result of a tool with an output schema is that error, without a warning", async () => {
  const runtime = await open({ command: process.execPath, args: ["test/fakes/raw-server.ts"] });
  const text = '{"jsonrpc":"2.0","id":$ID,"result":{"isError":true,"content":[{"type":"text","text":"no such row"}]}}';
  const outcome = await runtime.invoke({ tool: "one__raw", arguments: { text } });
  expect(outcome).toMatchObject({ status: "error", text: "no such row" });
});

it.each([
  ["in the answer", 200],
  ["in the body of a refusal", 422],
])("the code and the data of a server's error %s are kept", async (_where, status) => {
  const { url } = await rawHttp(({ method, id }, response) => {
    const error = { code: -32_099, message: "row is locked", data: { row: 7, by: ["ada"] } };
    return method === "tools/call" && reply(response, JSON.stringify({ jsonrpc: "2.0", id, error }), status);
  });
  const outcome = await (await open({ url })).invoke({ tool: "one__t" });
  expect(outcome).toMatchObject({
    status: "error",
    refusal: {
      code: "tool_failed",
      details: { rpc_error: { code: -32_099, message: "row is locked", data: { row: 7, by: ["ada"] } } },
    },
  });
  expect(outcome.text).toContain("row is locked");
});
