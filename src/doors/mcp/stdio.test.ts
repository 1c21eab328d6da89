import { once } from "node:events";
import { PassThrough } from "node:stream";
import { Client } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it } from "vitest";
import { createRuntime } from "../../create.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import { LineTransport, type Pipes } from "./line-transport.ts";
import { createMcpDoor } from "./mcp-door.ts";
import type { McpCaller } from "./visit.ts";

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
  const door = createMcpDoor({ runtime });
  const [up, down] = [new PassThrough(), new PassThrough()];
  const ended = door.serveStdio(caller, { input: up, output: down });
  cleanups.push(
    () => runtime.close(),
    () => door.close(),
  );
  return { client: { input: down, output: up }, ended };
}

describe.each(["2025-11-25", "2026-07-28"] as const)("MCP %s over pipes", (era) => {
  it("lists and calls, and ends when the client closes its end", async () => {
    const { client: pipes, ended } = await open();
    const client = new Client(
      { name: "test", version: "1" },
      { versionNegotiation: { mode: era === "2025-11-25" ? "legacy" : { pin: era } } },
    );
    await client.connect(new LineTransport(pipes));
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
  expect(await say('{"jsonrpc":"2.0","id":4,"method":"resources/list"}')).toMatchObject({
    id: 4,
    error: { code: -32_601 },
  });
  expect(await say('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"hello"}}')).toMatchObject({
    id: 5,
    result: { content: [{ text: "hello" }] },
  });
});

describe("a line", () => {
  function transport(limit?: number) {
    const input = new PassThrough();
    const output = new PassThrough();
    const lines = new LineTransport({ input, output }, limit);
    const got: unknown[] = [];
    lines.onmessage = (message) => void got.push(message);
    return { input, output, lines, got };
  }
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":"größer"}}';

  it("may come in any pieces", async () => {
    const { input, lines, got } = transport();
    await lines.start();
    for (const byte of Buffer.from(`${ping}\r\n${ping}\n`)) input.write(Buffer.from([byte]));
    await once(input.end(), "end");
    expect(got).toEqual([JSON.parse(ping), JSON.parse(ping)]);
  });

  it("that is too long is refused without being kept, and the next one is read", async () => {
    const { input, output, lines, got } = transport(100);
    await lines.start();
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
    await lines.start();
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    output.once("close", resolve).destroy(new Error("EPIPE"));
    await closed;
    await lines.send({ jsonrpc: "2.0", id: 1, result: {} });
  });
});
