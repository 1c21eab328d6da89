/** Clients whose libraries send null for absent members. */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createRuntime } from "../../packages/postern/src/index.ts";
import { createMcpGateway } from "../../packages/postern/src/mcp/server/mcp-server.ts";
import { type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const echo = {
  name: "echo",
  description: "Says what it was given.",
  risk: "safe",
  idempotent: true,
  input: { type: "object", properties: { note: { type: ["string", "null"] } } },
  execute: (given: unknown) => JSON.stringify(given),
} as const;
const postern = (): Promise<ServedRuntime> => serveRuntime({ tools: [echo] });

const accept = "application/json, text/event-stream";
const nulls = { _meta: null, cursor: null };
const initialize = {
  protocolVersion: "2025-11-25",
  capabilities: { roots: null, sampling: null, experimental: null },
  clientInfo: { name: "c", version: "1", title: null, icons: null },
  _meta: null,
};
const rpc = (id: number, method: string, params: object | null): object => ({ jsonrpc: "2.0", id, method, params });

it("treats null for an optional member of an MCP request as absent, over HTTP", async () => {
  const { url, token } = await postern();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", accept };
  const send = (body: object, more: object = {}): Promise<Response> =>
    fetch(`${url}/mcp`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const opened = await send(rpc(1, "initialize", initialize));
  expect(await opened.text()).toContain('"serverInfo"');
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  expect(await (await send(rpc(2, "tools/list", null), session)).text()).toContain('"echo"');
  expect(await (await send(rpc(3, "tools/list", nulls), session)).text()).toContain('"echo"');
  for (const given of [null, {}, { note: null }] as const) {
    const params = { name: "echo", arguments: given, _meta: { progressToken: null, "postern/reason": null } };
    const answer = await (await send(rpc(4, "tools/call", params), session)).text();
    expect(answer).toContain(JSON.stringify(JSON.stringify(given ?? {})));
    expect(answer).not.toContain('"error"');
  }
});

it("treats null for an optional member of an MCP request as absent, over pipes", async () => {
  const runtime = await createRuntime({ tools: [echo] });
  const gateway = createMcpGateway({ runtime });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = gateway.serveStdio({ principal: { tenant: "t", agent: "ada" }, scopes: [] }, { input, output });
  const call = { name: "echo", arguments: null, _meta: null };
  const lines = [rpc(1, "initialize", initialize), rpc(2, "tools/list", nulls), rpc(3, "tools/call", call)];
  input.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await served;
  output.end();
  const answers = (await text(output))
    .trim()
    .split("\n")
    .map((line): object => JSON.parse(line));
  expect(answers).toMatchObject([
    { id: 1, result: { serverInfo: {} } },
    { id: 2, result: { tools: [{ name: "echo" }] } },
    { id: 3, result: { content: [{ text: "{}" }], isError: false } },
  ]);
  await gateway.close();
  await runtime.close();
});

it("treats null for an optional member of an HTTP request as absent", async () => {
  const { url, token } = await postern();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const send = (body: object): Promise<Response> =>
    fetch(`${url}/v1/calls`, { method: "POST", headers, body: JSON.stringify(body) });
  const none = {
    action: null,
    idempotency_key: null,
    run_id: null,
    reason: null,
    scopes: null,
    approval_wait_ms: null,
  };
  expect(await (await send({ tool: "echo", arguments: null, ...none })).json()).toMatchObject({ text: "{}" });
  const kept = await send({ tool: "echo", arguments: { note: null }, autonomy: null });
  expect(await kept.json()).toMatchObject({ text: '{"note":null}' });
  expect((await send({ tool: null })).status).toBe(422);
  expect((await send({ tool: "echo", unknown: null })).status).toBe(422);
});
