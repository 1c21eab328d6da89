import { once } from "node:events";
import { PassThrough } from "node:stream";
import { Client, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import type { JsonObject } from "@postern/core";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { createRuntime } from "../../runtime/create.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import { LineTransport, type Pipes } from "./line-transport.ts";
import { createMcpGateway } from "./mcp-server.ts";
import type { McpCaller } from "./request-source.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const caller: McpCaller = { principal: { tenant: "t", agent: "ada" }, scopes: [] };
const hello: LocalTool = {
  name: "hello",
  description: "Says hello.",
  risk: "safe",
  idempotent: true,
  input: { type: "object" },
  execute: () => "hello",
};

/** Our side is served; the other side is the client's. `ended` resolves when serving is over. */
async function open(): Promise<{ readonly client: Pipes; readonly ended: Promise<void> }> {
  const runtime = await createRuntime({ tools: [hello], store: "memory" });
  const door = createMcpGateway({ runtime });
  const [up, down] = [new PassThrough(), new PassThrough()];
  const ended = door.serveStdio(caller, { input: up, output: down });
  cleanups.push(
    () => runtime.close(),
    () => door.close(),
  );
  return { client: { input: down, output: up }, ended };
}

/** The official client's end of the pipes. */
function overLines(pipes: Pipes): Transport {
  const lines = new LineTransport(pipes);
  const transport: Transport = {
    start: async () => lines.start(),
    send: (message) => lines.send(message as unknown as JsonObject), // plain JSON
    close: async () => lines.close(),
  };
  lines.onmessage = (message) => transport.onmessage?.(message as unknown as JSONRPCMessage); // it was read as one
  lines.onclose = () => transport.onclose?.();
  return transport;
}

describe.each(["2025-11-25", "2026-07-28"] as const)("MCP %s over pipes", (era) => {
  it("lists and calls, and ends when the client closes its end", async () => {
    const { client: pipes, ended } = await open();
    const client = new Client(
      { name: "test", version: "1" },
      { versionNegotiation: { mode: era === "2025-11-25" ? "legacy" : { pin: era } } },
    );
    await client.connect(overLines(pipes));
    expect(client.getNegotiatedProtocolVersion()).toBe(era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["hello"]);
    expect(await client.callTool({ name: "hello", arguments: {} })).toMatchObject({
      content: [{ text: "hello" }],
    });
    pipes.output.end();
    await ended;
  });
});

it("garbage, batches and wrong types are answered with errors, and the next line is served", async () => {
  const { client } = await open();
  const say = async (line: string): Promise<{ id: unknown; error?: { code: number }; result?: unknown }> => {
    client.output.write(`${line}\n`);
    const [chunk] = await once(client.input, "data");
    return JSON.parse(String(chunk)) as { id: unknown; error?: { code: number }; result?: unknown }; // what the door writes
  };
  expect(await say("garbage")).toMatchObject({ id: null, error: { code: -32_700 } });
  expect(await say('[{"jsonrpc":"2.0","id":1,"method":"ping"}]')).toMatchObject({
    id: null,
    error: { code: -32_600 },
  });
  expect(await say('{"jsonrpc":"2.0","id":{},"method":1}')).toMatchObject({
    id: null,
    error: { code: -32_600 },
  });
  const hi = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  };
  expect(await say(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hi }))).toMatchObject({
    id: 1,
    result: { protocolVersion: "2025-11-25" },
  });
  client.output.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n');
  expect(await say('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":7}}')).toMatchObject({
    id: 2,
    error: { code: -32_602 },
  });
  expect(
    await say('{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"hello","arguments":[]}}'),
  ).toMatchObject({ id: 3, error: { code: -32_602 } });
  expect(await say('{"jsonrpc":"2.0","id":4,"method":"tasks/list"}')).toMatchObject({
    id: 4,
    error: { code: -32_601 },
  });
  expect(await say('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"hello"}}')).toMatchObject({
    id: 5,
    result: { content: [{ text: "hello" }] },
  });
});

describe("when the input ends at once", () => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const request = (id: number, method: string, more: object = {}): string =>
    JSON.stringify({ jsonrpc: "2.0", id, method, params: more });
  const call = (id: number): string => request(id, "tools/call", { name: "slow" });

  /** What comes out for these lines, when nothing follows them; `slow` runs until it is released. */
  async function ended(text: string, clock = new FakeClock()) {
    const [released, began] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: LocalTool = {
      ...hello,
      name: "slow",
      execute: async () => {
        began.resolve();
        await released.promise;
        return "at last";
      },
    };
    const runtime = await createRuntime({ tools: [slow], store: "memory" });
    const door = createMcpGateway({ runtime, clock });
    cleanups.push(
      () => runtime.close(),
      () => door.close(),
      () => released.resolve(),
    );
    const [input, output] = [new PassThrough(), new PassThrough()];
    const said: unknown[] = [];
    output.on("data", (line) => void said.push(JSON.parse(String(line))));
    const over = door.serveStdio(caller, { input, output });
    input.end(text);
    return { said, over, began: began.promise, release: released.resolve, clock, input, output };
  }

  it("answers what was read before, and then it ends", async () => {
    const lines = [request(1, "initialize", params), call(2), request(3, "tools/list")].join("\n");
    const { said, over, began, release } = await ended(lines); // the last line has no end
    await began;
    release();
    await over;
    expect(said).toHaveLength(3);
    expect(said[0]).toMatchObject({ id: 1, result: { protocolVersion: "2025-11-25" } });
    expect(said).toContainEqual(expect.objectContaining({ id: 3, result: expect.anything() }));
    const answer = expect.objectContaining({ content: [{ type: "text", text: "at last" }] });
    expect(said).toContainEqual(expect.objectContaining({ id: 2, result: answer }));
  });

  it("waits ten seconds at most, and answers callers that still wait", async () => {
    const { said, over, began, clock } = await ended(`${request(1, "initialize", params)}\n${call(2)}\n`);
    await began;
    await clock.advance(9_999);
    expect(said).toHaveLength(1);
    await clock.advance(1);
    await over;
    expect(said[1]).toMatchObject({ id: 2, error: { code: -32_603, message: expect.stringContaining("10 s") } });
  });

  it("waits for nothing when the output has gone too", async () => {
    const { over, began, output, clock } = await ended(`${request(1, "initialize", params)}\n${call(2)}\n`);
    await began;
    output.destroy(new Error("EPIPE"));
    await over;
    expect(clock.now()).toBe(new FakeClock().now());
  });

  it("a second request under an id that is under way is refused, and the first is answered", async () => {
    const { said, over, began, release } = await ended(`${request(1, "initialize", params)}\n${call(2)}\n${call(2)}\n`);
    await began;
    release();
    await over;
    expect(said).toHaveLength(3);
    expect(said).toContainEqual({
      jsonrpc: "2.0",
      id: 2,
      error: { code: -32_600, message: "A request with this `id` is under way; give every request its own." },
    });
    expect(said[2]).toMatchObject({ id: 2, result: { content: [{ text: "at last" }] } });
  });
});

it("what follows `initialize` waits until it is answered", async () => {
  const { input, output } = { input: new PassThrough(), output: new PassThrough() };
  const lines = new LineTransport({ input, output });
  const got: unknown[] = [];
  lines.onmessage = (message) => void got.push(message["method"]);
  lines.start();
  input.write('{"jsonrpc":"2.0","id":1,"method":"initialize"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n');
  input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  await once(input.end(), "end");
  expect(got).toEqual(["initialize"]);
  await lines.send({ jsonrpc: "2.0", id: 1, result: {} });
  expect(got).toEqual(["initialize", "tools/list", "notifications/initialized"]);
  lines.close();
});

describe("a line", () => {
  function transport(limit?: number) {
    const input = new PassThrough();
    const output = new PassThrough();
    const lines = new LineTransport({ input, output }, limit === undefined ? {} : { lineLimitBytes: limit });
    const got: unknown[] = [];
    lines.onmessage = (message) => void got.push(message);
    return { input, output, lines, got };
  }
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":"größer"}}';

  const other = ping.replace('"id":1', '"id":2');

  it("may come in any pieces", async () => {
    const { input, lines, got } = transport();
    lines.start();
    for (const byte of Buffer.from(`${ping}\r\n${other}\n`)) input.write(Buffer.from([byte]));
    await once(input.end(), "end");
    expect(got).toEqual([JSON.parse(ping), JSON.parse(other)]);
  });

  it("that is too long is refused without being stored, and the next one is read", async () => {
    const { input, output, lines, got } = transport(100);
    lines.start();
    for (let piece = 0; piece < 50; piece += 1) input.write("x".repeat(99));
    input.write(`\n${ping}\n`);
    const [answer] = await once(output, "data");
    expect(JSON.parse(String(answer))).toMatchObject({
      id: null,
      error: { code: -32_600, message: "A message may have 100 bytes at most." },
    });
    expect(got).toHaveLength(1);
  });

  it("is not written to a client that has gone", async () => {
    const { output, lines } = transport();
    lines.start();
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    output.once("close", resolve).destroy(new Error("EPIPE"));
    await closed;
    await lines.send({ jsonrpc: "2.0", id: 1, result: {} });
  });
});

it("what a client can do is what its request states, also after `initialize`", async () => {
  const { client } = await open();
  const say = async (message: object): Promise<unknown> => {
    client.output.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    return JSON.parse(String(await once(client.input, "data")));
  };
  const clientInfo = { name: "raw", version: "1" };
  await say({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const asked = { id: 2, method: "tasks/get", params: { taskId: "apr_unknown", _meta } };
  expect(await say(asked)).toMatchObject({ error: { code: -32_602, message: expect.stringContaining("no task") } });
});
