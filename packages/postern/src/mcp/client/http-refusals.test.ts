/** What a call becomes whose server refuses it by an HTTP status with a JSON-RPC error in the body. Real sockets. */
import { serve } from "@hono/node-server";
import { createMcpHandler, inputRequired, ProtocolError, Server } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { type Answer, rawHttp, reply } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime, type Runtime, type ServerConfig } from "../../index.ts";

async function open(server: ServerConfig): Promise<Runtime> {
  const runtime = await createRuntime({
    servers: { one: { ...server, risk: "medium" } },
    policy: { maxRiskUnapproved: "high" },
  });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

const revisions = ["2025-11-25", "2026-07-28"] as const;
type Revision = (typeof revisions)[number];

/** A server of this revision; `call` answers `tools/call`. */
async function serverOf(revision: Revision, call: Answer): Promise<ServerConfig> {
  const { url } = await rawHttp((request, response) => {
    const { method, id } = request;
    if (method === "tools/call") return call(request, response);
    if (method !== "tools/list") return false;
    const tools = [{ name: "t", inputSchema: { type: "object" } }];
    const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", tools };
    return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  return { url, revision };
}

const words = "amount must be positive";
const refusal = (id: unknown, code = -32_602) =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: words, data: { least: 1 } } });
const refused = {
  status: "error",
  refusal: { code: "tool_failed", details: { rpc_error: { message: words, data: { least: 1 } } } },
};

const statuses = [400, 401, 403, 409, 413, 422, 500, 501];
const refusals = revisions.flatMap((revision) => [
  ...[-32_021, -32_602, -32_020].map((code) => [revision, 400, code] as const),
  ...statuses.map((status) => [revision, status, -32_000] as const),
]);

it.each(refusals)("a server of %s that answers HTTP %i with error %i has refused, in its words", async (...given) => {
  const [revision, status, code] = given;
  const config = await serverOf(revision, ({ id }, response) => reply(response, refusal(id, code), status));
  const runtime = await open(config);
  for (const attempt of [1, 2]) {
    const outcome = await runtime.invoke({ tool: "one__t", arguments: { n: 1 } });
    expect(outcome, `attempt ${attempt}`).toMatchObject(refused); // the second one is not blocked
    expect(outcome.text).toContain(words);
  }
});

it.each(revisions)("a server of %s refuses in an event, in an error without an id or a code too", async (revision) => {
  const bodies = [
    (id: unknown) => `event: message\ndata: ${refusal(id)}\n\n`,
    () => refusal(null),
    (id: unknown) => JSON.stringify({ jsonrpc: "2.0", id: String(id), error: { message: words } }),
    () => JSON.stringify({ error: { code: -32_602, message: words } }),
  ];
  const config = await serverOf(revision, ({ id }, response) => {
    const body = bodies.shift()?.(id) ?? "";
    return reply(response, body, 400, body.startsWith("event") ? { "content-type": "text/event-stream" } : {});
  });
  const runtime = await open(config);
  for (const _ of [...bodies]) {
    const outcome = await runtime.invoke({ tool: "one__t" });
    expect(outcome).toMatchObject({ refusal: { code: "tool_failed" } });
    expect(outcome.text).toContain(words);
  }
});

it.each(revisions)("a server of %s that is forbidden by a status alone has refused", async (revision) => {
  const config = await serverOf(revision, (_request, response) => reply(response, '{"error":"invalid_token"}', 401));
  const outcome = await (await open(config)).invoke({ tool: "one__t" });
  expect(outcome).toMatchObject({ refusal: { code: "tool_failed" } });
  expect(outcome.text).toContain("HTTP 401");
  expect(outcome.refusal?.details).toBeUndefined();
});

it("a server without sessions that answers 404 with an error has refused, in its words", async () => {
  const config = await serverOf("2026-07-28", ({ id }, response) => reply(response, refusal(id, -32_601), 404));
  expect(await (await open(config)).invoke({ tool: "one__t" })).toMatchObject(refused);
});

it.each(revisions)("a server of %s that answers HTTP 429 with an error takes the call later", async (revision) => {
  const config = await serverOf(revision, ({ id }, response) => reply(response, refusal(id), 429));
  const outcome = await (await open(config)).invoke({ tool: "one__t" });
  expect(outcome).toMatchObject({ status: "error", refusal: { retry: "later" } });
});

const unknown: readonly (readonly [string, number, (id: unknown) => string, string])[] = [
  ["of a proxy (HTTP 502)", 502, (id) => refusal(id), "application/json"],
  ["of a proxy (HTTP 504)", 504, (id) => refusal(id), "application/json"],
  ["without an id (HTTP 500)", 500, () => refusal(null), "application/json"],
  ["of another request (HTTP 500)", 500, () => refusal("other"), "application/json"],
  ["of another request (HTTP 200)", 200, () => refusal("other"), "application/json"],
  ["of another request in an event", 200, () => `data: ${refusal("other")}\n\n`, "text/event-stream"],
];

it.each(revisions.flatMap((revision) => unknown.map((one) => [revision, ...one] as const)))(
  "from a server of %s an error %s does not tell how the call ended",
  async (revision, _what, status, bodyOf, type) => {
    const config = await serverOf(revision, ({ id }, response) =>
      reply(response, bodyOf(id), status, { "content-type": type }),
    );
    const outcome = await (await open(config)).invoke({ tool: "one__t" });
    expect(outcome).toMatchObject({ refusal: { code: "outcome_unknown" } });
  },
);

/** A server of the official SDK, which speaks both revisions, over HTTP. */
async function sdkServer(): Promise<ServerConfig> {
  const inputSchema = { type: "object" as const };
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "sdk", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({
      tools: [
        { name: "ask", inputSchema },
        { name: "refuse", inputSchema },
      ],
    }));
    server.setRequestHandler("tools/call", ({ params: { name } }) => {
      if (name === "refuse") throw new ProtocolError(-32_602, words, { least: 1 });
      const requestedSchema = { type: "object" as const, properties: {} };
      return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: "Sure?", requestedSchema }) } });
    });
    return server;
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const listener = serve({ fetch: (request) => handler.fetch(request), port: 0, hostname: "127.0.0.1" }, ({ port }) =>
    resolve(port),
  );
  onTestFinished(async () => {
    listener.close();
    await handler.close();
  });
  return { url: `http://127.0.0.1:${await promise}/mcp`, revision: "2026-07-28" };
}

it("a tool of an SDK server that asks for input has failed, and is not blocked from then on", async () => {
  const runtime = await open(await sdkServer());
  for (const attempt of [1, 2]) {
    const outcome = await runtime.invoke({ tool: "one__ask" });
    expect(outcome, `attempt ${attempt}`).toMatchObject({
      ...{ refusal: { code: "tool_failed" }, text: expect.stringContaining("servers.one.may_ask") },
    });
  }
});

it("an error that a tool of an SDK server throws is its refusal", async () => {
  expect(await (await open(await sdkServer())).invoke({ tool: "one__refuse" })).toMatchObject(refused);
});
