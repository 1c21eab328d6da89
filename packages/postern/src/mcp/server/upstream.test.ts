import { serve } from "@hono/node-server";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, expect, it } from "vitest";
import { handled } from "../../../../../test/fakes/mcp-exchange.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { createRuntime } from "../../runtime/create.ts";
import type { RuntimeOptions } from "../../runtime/options/options.ts";
import type { ServerConfig } from "../client/server-config.ts";
import { createMcpGateway } from "./mcp-server.ts";

/** Client, door, runtime, upstream server: the whole way, all of it real. */
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const everything: ServerConfig = {
  command: process.execPath,
  args: ["node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"],
};

async function postern(options: RuntimeOptions): Promise<{ readonly runtime: Runtime; readonly url: string }> {
  const runtime = await createRuntime({
    autonomy: "A2",
    approvals: { patience: "suspend" },
    ...options,
  });
  const door = createMcpGateway({ runtime, approvalWaitMs: 20 });
  const { promise, resolve } = Promise.withResolvers<number>();
  const fetch = (request: Request): Promise<Response> => {
    const [, server] = /^\/mcp\/([^/]+)$/.exec(new URL(request.url).pathname) ?? [];
    return handled(
      door,
      request,
      { principal: { tenant: "t", agent: "ada" }, scopes: [] },
      server === undefined ? {} : { server },
    );
  };
  const listener = serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
  cleanups.push(
    () => void listener.close(),
    () => door.close(),
    () => runtime.close(0),
  );
  return { runtime, url: `http://127.0.0.1:${await promise}/mcp` };
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  cleanups.push(() => client.close());
  return client;
}

it("an upstream's tools are there twice: under their server's name, and at its own address under their own", async () => {
  const impostor = {
    name: "every__impostor",
    description: "",
    risk: "safe",
    idempotent: true,
    input: { type: "object" },
    execute: () => "no",
  } as const;
  const { url, runtime } = await postern({
    tools: [impostor],
    servers: { every: { ...everything, risk: "safe" } },
  });
  const beside = { ...impostor, name: "beside", actions: { one: {}, two: {} }, execute: undefined };
  const ran = (which: string) => ({ input: { type: "object" }, risk: "safe", execute: () => `ran ${which}` });
  runtime.tools.register({ ...beside, actions: { one: ran("one"), two: ran("two") } } as never, { server: "every" });
  const sum = { content: [{ text: "The sum of 2 and 3 is 5." }] };
  const all = await connect(url);
  expect(await all.callTool({ name: "every__get-sum", arguments: { a: 2, b: 3 } })).toMatchObject(sum);
  expect(await all.callTool({ name: "every__get-sum", arguments: { a: "2" } })).toMatchObject({
    structuredContent: { code: "arguments_invalid" },
  });
  const own = await connect(`${url}/every`);
  expect((await own.listTools()).tools.map(({ name }) => name)).toContain("get-sum");
  expect(await own.callTool({ name: "get-sum", arguments: { a: 2, b: 3 } })).toMatchObject(sum);
  const { tools: listed } = await own.listTools();
  for (const which of ["one", "two"]) {
    expect(listed.filter(({ name }) => name === `beside__${which}`)).toHaveLength(1); // whatever is listed can be called
    expect(await own.callTool({ name: `beside__${which}`, arguments: {} })).toMatchObject({
      content: [{ text: `ran ${which}` }],
    });
  }
  expect(await own.callTool({ name: "impostor", arguments: {} })).toMatchObject({
    structuredContent: { code: "tool_unknown" },
  });
  expect(await own.callTool({ name: "every__get-sum", arguments: { a: 2, b: 3 } })).toMatchObject({
    structuredContent: { code: "tool_unknown" },
  });
});

it("every kind of content comes through both sides as what it was", async () => {
  const { url } = await postern({ servers: { every: { ...everything, risk: "safe" } } });
  const client = await connect(`${url}/every`);
  const types = async (name: string, given: Record<string, unknown>): Promise<string[]> =>
    (await client.callTool({ name, arguments: given })).content.map(({ type }) => type);
  expect(await types("get-resource-links", { count: 2 })).toEqual(["text", "resource_link", "resource_link"]);
  expect(await types("get-resource-reference", { resourceType: "Text", resourceId: 1 })).toEqual([
    "text",
    "resource",
    "text",
  ]);
  expect(await types("get-tiny-image", {})).toEqual(["text", "image", "text"]);
  expect(await client.callTool({ name: "get-structured-content", arguments: { location: "Chicago" } })).toMatchObject({
    structuredContent: { temperature: 36 },
  });
});

it("scope, gate and idempotency are asked before any byte goes to the server (case 250)", async () => {
  const behind = await postern({
    tools: [
      {
        name: "send",
        description: "Sends.",
        risk: "safe",
        idempotent: true,
        input: { type: "object" },
        execute: () => "sent",
      },
    ],
  });
  const { runtime, url } = await postern({
    servers: { far: { url: behind.url, tools: { send: { risk: "high" } } } },
  });
  const client = await connect(url);
  const request = { name: "far__send", arguments: { to: "x" } };
  const held = await client.callTool(request);
  expect(held).toMatchObject({ structuredContent: { status: "approval_pending" } });
  expect(await behind.runtime.calls.list()).toEqual([]);
  const [approval] = await runtime.approvals.list();
  await runtime.approvals.decide(approval?.id ?? "", {
    decision: "approved",
    by: { user: "olga", via: "token:olga" },
  });
  expect(await client.callTool(request)).toMatchObject({
    isError: false,
    content: [{ text: "sent" }],
  });
  expect(await client.callTool(request)).toMatchObject({
    isError: false,
    _meta: { "postern/replayed": true },
  });
  expect(await behind.runtime.calls.list()).toHaveLength(1);
});

it("the server is killed in the middle of a call: unknown, and its tools are unavailable until it is back (case 158, case 249)", async () => {
  const { runtime, url } = await postern({
    servers: {
      every: { ...everything, tools: { "trigger-long-running-operation": { risk: "medium" } } },
    },
    autonomy: "A3",
  });
  const client = await connect(url);
  const [server] = runtime.health().servers as readonly { processId?: number }[]; // the status of a child process names it
  const started = Promise.withResolvers<void>();
  const call = client.callTool(
    { name: "every__trigger-long-running-operation", arguments: { duration: 60, steps: 600 } },
    { onprogress: () => started.resolve() },
  );
  await started.promise;
  process.kill(server?.processId ?? Number.NaN, "SIGKILL");
  expect(await call).toMatchObject({
    isError: true,
    structuredContent: { code: "outcome_unknown" },
  });
  expect(await client.callTool({ name: "every__echo", arguments: { message: "x" } })).toMatchObject({
    structuredContent: { code: "tool_unavailable", retry: "later" },
  });
  const [record] = await runtime.calls.list({ state: "unknown" });
  expect(record).toMatchObject({ call: { tool: "every__trigger-long-running-operation" } });
  const noted = await runtime.audit.query({ type: "mcp." });
  expect(noted.map(({ type }) => type)).toContain("mcp.disconnected");
});
