import { afterEach, expect, it } from "vitest";
import { handled } from "../../../../../test/fakes/mcp-exchange.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { createRuntime } from "../../runtime/create.ts";
import { createMcpGateway, type McpGateway } from "./mcp-server.ts";
import type { McpCaller } from "./request-source.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const ada: McpCaller = { principal: { tenant: "t", agent: "ada", via: "token:ada" }, scopes: [] };
const bob: McpCaller = { principal: { tenant: "t", agent: "bob", via: "token:bob" }, scopes: [] };
const hello = {
  name: "hello",
  description: "",
  risk: "safe",
  idempotent: true,
  input: { type: "object" },
  execute: () => "hello",
} as const;

async function open(): Promise<{ readonly runtime: Runtime; readonly door: McpGateway }> {
  const runtime = await createRuntime({ tools: [hello], store: "memory" });
  const door = createMcpGateway({ runtime });
  cleanups.push(
    () => runtime.close(),
    () => door.close(),
  );
  return { runtime, door };
}

function post(body: string, headers: Readonly<Record<string, string>> = {}): Request {
  const usual = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  return new Request("http://127.0.0.1/mcp", {
    method: "POST",
    headers: { ...usual, ...headers },
    body,
  });
}

const call = (more: object = {}): object => ({
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name: "hello", arguments: {}, ...more },
});
const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
};
const modernHeaders = {
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "hello",
};

/** A 2025 session of this caller, by hand. */
async function session(door: McpGateway, caller: McpCaller, server?: string): Promise<string> {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  };
  const opened = await handled(
    door,
    post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })),
    caller,
    server === undefined ? {} : { server },
  );
  const id = opened.headers.get("mcp-session-id") ?? "";
  await opened.text();
  await handled(
    door,
    post('{"jsonrpc":"2.0","method":"notifications/initialized"}', { "mcp-session-id": id }),
    caller,
    server === undefined ? {} : { server },
  );
  return id;
}

it("a session answers only who opened it, at the address it was opened at", async () => {
  const { door } = await open();
  const id = await session(door, ada);
  const again = (): Request => post(JSON.stringify(call()), { "mcp-session-id": id });
  expect((await handled(door, again(), bob)).status).toBe(404);
  expect((await handled(door, again(), ada, { server: "files" })).status).toBe(404);
  expect(
    (
      await handled(
        door,
        new Request("http://127.0.0.1/mcp", {
          method: "DELETE",
          headers: { "mcp-session-id": id },
        }),
        bob,
      )
    ).status,
  ).toBe(404);
  const answered = await handled(door, again(), ada);
  expect(await answered.text()).toContain('"text":"hello"');
});

it("no header, session or message gives a call another caller", async () => {
  const { runtime, door } = await open();
  const body = JSON.stringify(call({ _meta: { ...meta, principal: ada.principal } }));
  const answered = await handled(
    door,
    post(body, { ...modernHeaders, "x-user": "ada", authorization: "Bearer ada" }),
    bob,
  );
  expect(await answered.json()).toMatchObject({ result: { isError: false } });
  expect(await runtime.calls.list()).toMatchObject([{ call: { authority: { principal: bob.principal, scopes: [] } } }]);
});

it("a header that says another tool than the body is refused, and nothing runs", async () => {
  const { runtime, door } = await open();
  const answered = await handled(
    door,
    post(JSON.stringify(call({ _meta: meta })), { ...modernHeaders, "mcp-name": "other" }),
    ada,
  );
  expect(answered.status).toBe(400);
  expect(await answered.json()).toMatchObject({ error: { code: -32_020 } });
  expect(await runtime.calls.list()).toEqual([]);
});

it.each([
  ["{", -32_700],
  ["", -32_700],
  ["[]", -32_600],
  ['[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', -32_600],
  ["7", -32_600],
  ["null", -32_600],
  ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}', -32_000],
  ['{"jsonrpc":"1.0","id":{},"method":7}', -32_600],
  ['{"jsonrpc":"2.0","id":1,"method":"initialize","params":7}', -32_600],
  [
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
    -32_602,
  ],
  [
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}',
    -32_602,
  ],
])("a body that is no request is answered with an error: %s", async (body, code) => {
  const { door } = await open();
  const answered = await handled(door, post(body), ada);
  expect(answered.status).toBe(400);
  const { error } = (await answered.json()) as { error: { code: number; message: string } }; // a JSON-RPC error
  expect(error.code).toBe(code);
  expect(error.message).not.toMatch(/node_modules|\/src\//);
});

it.each([{ name: 7 }, { name: "hello", arguments: [] }, { name: "hello", arguments: "text" }, {}])(
  "a call of wrong types is an error, in a session as without: %j",
  async (params) => {
    const { door } = await open();
    const id = await session(door, ada);
    const legacy = await handled(
      door,
      post(JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params }), {
        "mcp-session-id": id,
      }),
      ada,
    );
    expect(await legacy.text()).toContain('"code":-32602');
    const modern = await handled(
      door,
      post(
        JSON.stringify({
          jsonrpc: "2.0",
          id: 2,
          method: "tools/call",
          params: { ...params, _meta: meta },
        }),
        modernHeaders,
      ),
      ada,
    );
    expect(await modern.text()).toMatch(/"code":-320(20|602)|"code":-32602/);
  },
);

it("arguments nested without end are refused, and the door goes on", async () => {
  const { door } = await open();
  const deep = `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`;
  const body = JSON.stringify(call({ _meta: meta })).replace('"arguments":{}', `"arguments":${deep}`);
  const answered = await handled(door, post(body, modernHeaders), ada);
  expect(answered.status).toBe(400);
  expect(await answered.json()).toMatchObject({
    id: 2,
    error: { code: -32_700, message: expect.stringContaining("100 levels") },
  });
  expect(
    await (await handled(door, post(JSON.stringify(call({ _meta: meta })), modernHeaders), ada)).json(),
  ).toMatchObject({ result: { isError: false } });
});

it.each([
  ["a name given twice", '"arguments":{"a":1,"a":2}', 2],
  ["a number that would be rounded", '"arguments":{"a":9007199254740993}', 2],
  ["`__proto__`", '"arguments":{"__proto__":{"a":1}}', 2],
  ["a number that would be infinite", '"arguments":{"a":1e400}', 2],
])("what could be read in two ways is refused, to the request itself: %s", async (_, hostile, id) => {
  const { runtime, door } = await open();
  const body = JSON.stringify(call({ _meta: meta })).replace('"arguments":{}', hostile);
  for (const type of ["application/json", "application/json; charset=utf-8; a=b", "text/plain"]) {
    const answered = await handled(door, post(body, { ...modernHeaders, "content-type": type }), ada);
    expect(answered.status).toBe(400);
    expect(await answered.json()).toMatchObject({ id, error: { code: -32_700 } });
  }
  expect(await runtime.calls.list()).toEqual([]);
});

it("an address of a server that is none is 404 in a sentence, with every method, and opens no session", async () => {
  const { door } = await open();
  const hi = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const initialize = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hi });
  for (const server of ["nowhere", "hello", "constructor", ""]) {
    const answered = await handled(door, post(initialize), ada, { server });
    expect([answered.status, answered.headers.get("mcp-session-id")]).toEqual([404, null]);
    expect(await answered.json()).toMatchObject({
      error: { message: expect.stringContaining(`No server is named \`${server}\``) },
    });
    const listening = new Request("http://127.0.0.1/mcp/nowhere", { headers: { accept: "text/event-stream" } });
    expect((await handled(door, listening, ada, { server })).status).toBe(404);
  }
});

it("other methods than POST need a session", async () => {
  const { door } = await open();
  const request = (method: string, id?: string): Request =>
    new Request("http://127.0.0.1/mcp", {
      method,
      ...(id !== undefined && { headers: { "mcp-session-id": id } }),
    });
  expect((await handled(door, request("GET"), ada)).status).toBe(405);
  expect((await handled(door, request("GET", "made-up"), ada)).status).toBe(404);
  expect((await handled(door, request("DELETE", "made-up"), ada)).status).toBe(404);
});

it("keeps the answer of a task while another caller makes very many", async () => {
  const { door } = await open();
  const openers = [ada, bob].map(async (caller) => [caller, await session(door, caller)] as const);
  const [[, ofAda], [, ofBob]] = (await Promise.all(openers)) as [[McpCaller, string], [McpCaller, string]];
  const sent = async (caller: McpCaller, id: string, message: object): Promise<unknown> =>
    (await handled(door, post(JSON.stringify(message), { "mcp-session-id": id }), caller)).json();
  const asTask = { ...call({ task: {} }) };
  const { result } = (await sent(ada, ofAda, asTask)) as { result: { task: { taskId: string } } };
  for (let at = 0; at < 1_200; at += 1)
    await sent(bob, ofBob, call({ task: {}, _meta: { "postern/idempotency-key": `${at}` } }));
  const { taskId } = result.task;
  const asked = { jsonrpc: "2.0", id: 3, method: "tasks/result", params: { taskId } };
  const answer = { result: { content: [{ text: "hello" }] } };
  expect(await sent(ada, ofAda, asked)).toMatchObject(answer);
  expect(await sent(bob, ofBob, asked)).toMatchObject({ error: { code: -32_602 } });
  const again: McpCaller = { principal: { ...ada.principal, via: "token:new" }, scopes: ["more"] };
  expect(await sent(again, await session(door, again), asked)).toMatchObject(answer); // the caller of the call, with a new token
});

it("leaves room for others to listen, however many requests of one agent do", async () => {
  const { door } = await open();
  const listen = async (caller: McpCaller): Promise<string> => {
    const params = { _meta: meta, notifications: { toolsListChanged: true } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params });
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
    const { body: stream } = await handled(door, post(body, headers), caller);
    const { value } = (await stream?.getReader().read()) ?? {};
    return new TextDecoder().decode(value);
  };
  for (let at = 0; at < 100; at += 1) expect(await listen(bob)).toContain("subscriptions/acknowledged");
  expect(await listen(bob)).toContain("100 requests of this agent listen already");
  expect(await listen(ada)).toContain("subscriptions/acknowledged");
});

it("leaves room for others to be asked, however many calls of one agent wait for answers", async () => {
  const risky = { ...hello, name: "risky", risk: "high", idempotent: false } as const;
  const approvals = { patience: "suspend", maxOpenPerAgent: 1_000 } as const;
  const runtime = await createRuntime({ tools: [risky], store: "memory", autonomy: "A2", approvals });
  const door = createMcpGateway({ runtime, approvalWaitMs: 1, console: () => "http://console" });
  cleanups.push(
    () => runtime.close(0),
    () => door.close(),
  );
  const opens = { ...meta, "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } } };
  const kind = async (caller: McpCaller, at = 0): Promise<unknown> => {
    const body = JSON.stringify(call({ name: "risky", arguments: { at }, _meta: opens }));
    const answer = await handled(door, post(body, { ...modernHeaders, "mcp-name": "risky" }), caller);
    return ((await answer.json()) as { result?: { resultType: string } }).result?.resultType;
  };
  for (let at = 0; at < 200; at += 1) expect(await kind(bob, at)).toBe("input_required");
  expect(await kind(bob, 200)).toBe("complete"); // it is answered as to a client that opens no pages
  expect(await kind(ada)).toBe("input_required");
});
