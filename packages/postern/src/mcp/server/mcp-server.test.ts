import { serve } from "@hono/node-server";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it } from "vitest";
import { handled } from "../../../../../test/fakes/mcp-exchange.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { createRuntime } from "../../runtime/create.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import { createMcpGateway, type McpGatewayOptions } from "./mcp-server.ts";
import type { McpCaller } from "./request-source.ts";

/** The real runtime behind the real door on a real socket, spoken to by the official client. */
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const ran: unknown[] = [];
const tools: LocalTool[] = [
  {
    name: "zebra",
    description: "Last.",
    risk: "safe",
    idempotent: true,
    input: { type: "object" },
    execute: () => "striped",
  },
  {
    name: "send",
    description: "Sends.",
    risk: "high",
    effects: "write",
    idempotent: false,
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    execute: (input) => {
      ran.push(input);
      return `sent ${ran.length}`;
    },
  },
  {
    name: "notes",
    description: "Notes.",
    risk: "safe",
    idempotent: true,
    actions: {
      list: { input: { type: "object" }, execute: () => ({ structured: ["a", "b"] }) },
      show: { input: { type: "object" }, execute: () => ({ structured: { a: 1 } }) },
    },
  },
  {
    name: "slow",
    description: "Tells of its progress.",
    risk: "safe",
    idempotent: true,
    input: { type: "object" },
    execute: async (_input, context) => {
      context.progress("half");
      await new Promise((resolve) => setImmediate(resolve));
      return "done";
    },
  },
];
const ada: McpCaller = { principal: { tenant: "t", agent: "ada", via: "token:ada" }, scopes: [] };

interface Scene {
  readonly runtime: Runtime;
  readonly url: string;
}

async function open(door: Partial<McpGatewayOptions> = { approvalWaitMs: 20 }, clock?: FakeClock): Promise<Scene> {
  ran.length = 0;
  const runtime = await createRuntime({
    tools,
    autonomy: "A2",
    approvals: { patience: "suspend" },
    ...(clock && { clock }),
  });
  const mcp = createMcpGateway({ runtime, ...(clock && { clock }), ...door });
  const fetch = (request: Request): Promise<Response> => handled(mcp, request, ada);
  const { promise, resolve } = Promise.withResolvers<number>();
  const listener = serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
  cleanups.push(
    () => runtime.close(),
    () => void listener.close(),
    () => mcp.close(),
  );
  return { runtime, url: `http://127.0.0.1:${await promise}/mcp` };
}

async function connect(url: string, era: "2025-11-25" | "2026-07-28"): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: era === "2025-11-25" ? "legacy" : { pin: era } } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  expect(client.getNegotiatedProtocolVersion()).toBe(era);
  cleanups.push(() => client.close());
  return client;
}

it("answers a held call after 20 s by default, because clients stop waiting after 60", async () => {
  const clock = new FakeClock();
  const { url, runtime } = await open({}, clock);
  const client = await connect(url, "2026-07-28");
  const held = Promise.withResolvers<void>();
  let left = false;
  runtime.watch(({ moment }) => {
    if (moment === "held") held.resolve();
    left ||= moment === "left";
  });
  const answer = client.callTool({ name: "send", arguments: { to: "ann" } });
  await held.promise;
  await clock.advance(19_999);
  expect(left).toBe(false);
  await clock.advance(1);
  expect(left).toBe(true);
  expect(await answer).toMatchObject({ structuredContent: { status: "approval_pending" } });
});

describe.each(["2025-11-25", "2026-07-28"] as const)("MCP %s over HTTP", (era) => {
  it("tells what a repeated call of each tool does, and whether it can be previewed", async () => {
    const { url, runtime } = await open();
    runtime.tools.register({
      ...{ name: "pay", description: "Pays.", risk: "high", idempotent: false, input: { type: "object" } },
      requireIdempotencyKey: true,
      preview: () => ({ summary: "10 euros" }),
      execute: () => "paid",
    });
    const { tools: listed } = await (await connect(url, era)).listTools();
    const contracts = listed.map(({ name, _meta: meta }) => [
      name,
      meta?.["postern/idempotency"],
      meta?.["postern/supports_preview"],
    ]);
    expect(contracts).toEqual([
      ["notes__list", "idempotent", false],
      ["notes__show", "idempotent", false],
      ["pay", "key_required", true],
      ["send", "once_per_key", false],
      ["slow", "idempotent", false],
      ["zebra", "idempotent", false],
    ]);
  });

  it("lists what the caller may use in the order of names, actions by table", async () => {
    const { url } = await open();
    const client = await connect(url, era);
    const { tools: listed, ...rest } = await client.listTools();
    expect(listed.map(({ name }) => name)).toEqual(["notes__list", "notes__show", "send", "slow", "zebra"]);
    expect(listed[2]).toMatchObject({
      description: "Sends.",
      inputSchema: { type: "object", required: ["to"] },
      annotations: { readOnlyHint: false },
    });
    if (era === "2026-07-28") expect(rest).toMatchObject({ ttlMs: 0, cacheScope: "private" });
  });

  it("runs a call through the gates and says which call it was", async () => {
    const { url, runtime } = await open();
    const client = await connect(url, era);
    const result = await client.callTool({ name: "zebra", arguments: {} });
    expect(result).toMatchObject({
      content: [{ type: "text", text: "striped" }],
      isError: false,
      _meta: { "postern/status": "ok" },
    });
    const [record] = await runtime.calls.list();
    expect(record).toMatchObject({
      call: { id: result._meta?.["postern/call-id"], authority: { principal: ada.principal } },
    });
    expect(await client.callTool({ name: "notes__show", arguments: {} })).toMatchObject({
      structuredContent: { a: 1 },
    });
    expect((await client.callTool({ name: "notes__list", arguments: {} })).structuredContent).toEqual(
      era === "2026-07-28" ? ["a", "b"] : undefined,
    );
  });

  it("a held call is answered in time with the approval, and the same call runs once after it", async () => {
    const { url, runtime } = await open();
    const client = await connect(url, era);
    const request = { name: "send", arguments: { to: "x" } };
    const held = await client.callTool(request);
    const pending = {
      status: "approval_pending",
      approval_id: expect.stringMatching(/^apr_/),
      expires_at: expect.stringMatching(/Z$/),
      retry: "send the same call again",
    };
    expect(held).toMatchObject({ isError: true, structuredContent: pending });
    expect(await client.callTool(request)).toMatchObject({
      structuredContent: { approval_id: idOf(held) },
    });
    expect(ran).toEqual([]);
    await runtime.approvals.decide(idOf(held), {
      decision: "approved",
      by: { user: "olga", via: "token:olga" },
    });
    expect(await client.callTool(request)).toMatchObject({
      isError: false,
      content: [{ text: "sent 1" }],
    });
    expect(await client.callTool(request)).toMatchObject({
      content: [{ text: expect.stringContaining("did not run again") }, { text: "sent 1" }],
      _meta: { "postern/replayed": true },
    });
    expect(ran).toEqual([{ to: "x" }]);
  });

  it("a denial is an error result that says so", async () => {
    const { url, runtime } = await open();
    const client = await connect(url, era);
    const held = await client.callTool({ name: "send", arguments: { to: "x" } });
    await runtime.approvals.decide(idOf(held), {
      decision: "denied",
      by: { user: "olga", via: "token:olga" },
      reason: "not today",
    });
    expect(await client.callTool({ name: "send", arguments: { to: "x" } })).toMatchObject({
      isError: true,
      structuredContent: { status: "denied", code: "approval_denied", retry: "never" },
    });
  });

  it("an unknown tool, wrong arguments and a wrong key are typed errors, and the door goes on", async () => {
    const { url } = await open();
    const client = await connect(url, era);
    expect(await client.callTool({ name: "constructor", arguments: {} })).toMatchObject({
      isError: true,
      structuredContent: { code: "tool_unknown", status: "error" },
    });
    expect(await client.callTool({ name: "send", arguments: { to: 7 } })).toMatchObject({
      isError: true,
      structuredContent: { code: "arguments_invalid", retry: "changed" },
    });
    await expect(
      client.callTool({ name: "zebra", arguments: {}, _meta: { "postern/idempotency-key": 7 } }),
    ).rejects.toThrow("idempotency-key");
    expect(await client.callTool({ name: "zebra", arguments: {} })).toMatchObject({
      isError: false,
    });
  });

  it("a client's idempotency key is the call's key", async () => {
    const { url } = await open();
    const client = await connect(url, era);
    const call = () => client.callTool({ name: "slow", arguments: {}, _meta: { "postern/idempotency-key": "k1" } });
    expect(await call()).not.toHaveProperty(["_meta", "postern/replayed"]);
    expect(await call()).toMatchObject({ _meta: { "postern/replayed": true } });
  });

  it("shows a client's reason to the approver, and refuses one that is no text", async () => {
    const { url, runtime } = await open({ approvalWaitMs: 0 });
    const client = await connect(url, era);
    const call = (reason: unknown) =>
      client.callTool({ name: "send", arguments: { to: "ann" }, _meta: { "postern/reason": reason } });
    for (const odd of ["", 7, "x".repeat(2_001)]) await expect(call(odd)).rejects.toThrow("postern/reason");
    await call("Ann asked for it");
    const [approval] = await runtime.approvals.list({ state: "pending" });
    expect(approval).toMatchObject({ tool: "send", reason: "Ann asked for it" });
  });

  it("progress reaches a client that asked for it", async () => {
    const { url } = await open();
    const client = await connect(url, era);
    const told: unknown[] = [];
    await client.callTool(
      { name: "slow", arguments: {} },
      { onprogress: ({ progress, message }) => void told.push(`${progress} ${message}`) },
    );
    expect(told).toEqual(["0 slow runs", "0.001 half"]);
  });

  it("cancelling a held call leaves the request open, and nothing runs", async () => {
    const { url, runtime } = await open({ approvalWaitMs: 15_000 });
    const client = await connect(url, era);
    const cancel = new AbortController();
    const left = Promise.withResolvers<string | undefined>();
    using _ = runtime.watch((event) => {
      if (event.moment === "held") cancel.abort(new Error("enough"));
      if (event.moment === "left") left.resolve(event.outcome.refusal?.code);
    });
    await expect(
      client.callTool({ name: "send", arguments: { to: "x" } }, { signal: cancel.signal }),
    ).rejects.toThrow();
    expect(await left.promise).toBe("cancelled");
    const [approval] = await runtime.approvals.list();
    expect(approval).toMatchObject({ state: "pending", tool: "send" });
    expect(ran).toEqual([]);
  });

  it("announces a changed set of tools, and lists it again", async () => {
    const { url, runtime } = await open();
    const changed = Promise.withResolvers<void>();
    const client = new Client(
      { name: "test", version: "1" },
      {
        versionNegotiation: { mode: era === "2025-11-25" ? "legacy" : { pin: era } },
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 0, onChanged: () => changed.resolve() },
        },
      },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    cleanups.push(() => client.close());
    await client.listTools(); // the stream of notifications is open by then
    runtime.tools.register({
      name: "added",
      description: "New.",
      risk: "safe",
      idempotent: true,
      input: { type: "object" },
      execute: () => "new",
    });
    await changed.promise;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("added");
  });
});

function idOf(result: { readonly structuredContent?: unknown }): string {
  const { approval_id: id } = result.structuredContent as { approval_id: string }; // an `approval_pending` answer
  return id;
}
