/** Upstream servers that speak HTTP+SSE, the transport of revision 2024-11-05. */
import { describe, expect, it, onTestFinished } from "vitest";
import { createRuntime, type Runtime, type ServerConfig } from "../../packages/postern/src/index.ts";
import { connectMcp } from "../../packages/postern/src/mcp/client/connect-mcp.ts";
import { type SseServer, sseServer } from "../fakes/sse-server.ts";

const echo = { tool: "old__echo", arguments: { text: "hello" } };

async function configured(config: Partial<ServerConfig>, maxBytes?: number): Promise<Runtime> {
  const runtime = await createRuntime({
    servers: { old: { risk: "medium", ...config } },
    policy: { maxRiskUnapproved: "high" },
    results: maxBytes === undefined ? {} : { maxBytes },
  });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

function getsOf({ requests }: SseServer): readonly string[] {
  return requests.flatMap(({ method, path }) => (method === "GET" ? [path] : []));
}

it("lists and calls the tools of an address that ends in /sse, without another request before", async () => {
  const server = await sseServer();
  await using box = await connectMcp({ url: `${server.origin}/sse`, risk: "safe" });
  await using runtime = await createRuntime({ tools: box });
  expect(box.names()).toEqual(["echo", "large", "hang"]);
  expect(await runtime.invoke({ tool: "echo", arguments: { text: "hi" } })).toMatchObject({ status: "ok", text: "hi" });
  expect(server.requests[0]).toMatchObject({ method: "GET", path: "/sse" });
});

it.each([400, 404, 405])("recognises a server that answers initialize by POST with %s", async (refuses) => {
  const server = await sseServer({ refuses });
  const runtime = await configured({ url: `${server.origin}/old` });
  expect(await runtime.invoke(echo)).toMatchObject({ status: "ok", text: "hello" });
  expect(server.requests[0]).toMatchObject({ method: "POST", path: "/old" });
});

it("does not accept a server that fails otherwise", async () => {
  const server = await sseServer({ refuses: 500 });
  const runtime = await configured({ url: `${server.origin}/old` });
  expect(runtime.health().servers[0]).toMatchObject({
    status: "disconnected",
    problem: expect.stringContaining("500"),
  });
  expect(getsOf(server)).toEqual([]);
});

it("names the reason of both transports for an address without a server", async () => {
  const server = await sseServer();
  await expect(connectMcp({ url: `${server.origin}/nothing` })).rejects.toThrow(/404.*; over HTTP\+SSE: .*404/s);
});

it("tries no other transport when the configuration names one", async () => {
  const server = await sseServer();
  await expect(connectMcp({ url: `${server.origin}/sse`, transport: "http" })).rejects.toThrow("404");
  expect(getsOf(server)).toEqual([]);
  await using box = await connectMcp({ url: `${server.origin}/old`, transport: "sse" });
  expect(box.has("echo")).toBe(true);
  expect(server.requests.filter(({ path }) => path === "/old").at(-1)).toMatchObject({ method: "GET" });
});

it("sends the configured headers with the stream and with every message", async () => {
  const server = await sseServer();
  const runtime = await configured({ url: `${server.origin}/sse`, headers: { authorization: "Bearer s3cret" } });
  await runtime.invoke(echo);
  expect(server.requests.length).toBeGreaterThan(3);
  expect(server.requests.filter(({ headers }) => headers.authorization !== "Bearer s3cret")).toEqual([]);
});

it("refuses messages at another origin, and sends nothing there", async () => {
  const other = await sseServer();
  const server = await sseServer({ endpoint: `${other.origin}/messages` });
  const connecting = connectMcp({ url: `${server.origin}/sse`, transport: "sse" });
  await expect(connecting).rejects.toThrow(`does not match connection origin: ${other.origin}`);
  expect(other.requests).toEqual([]);
});

it("follows a redirect of the stream within its origin, and no other", async () => {
  const near = await sseServer({ movedTo: "/moved" });
  await using box = await connectMcp({ url: `${near.origin}/sse` });
  expect(box.has("echo")).toBe(true);
  const other = await sseServer();
  const far = await sseServer({ movedTo: `${other.origin}/sse` });
  await expect(connectMcp({ url: `${far.origin}/sse`, transport: "sse" })).rejects.toThrow(/redirect/i);
  expect(other.requests).toEqual([]);
});

describe("a stream that breaks off during a call", () => {
  it.each([
    ["leaves a call with effects unknown", {}, "outcome_unknown"],
    ["ends an idempotent call as failed, to be sent again", { idempotent: true }, "tool_failed"],
  ])("%s", async (_what, terms, code) => {
    const server = await sseServer();
    const runtime = await configured({ url: `${server.origin}/sse`, tools: { hang: terms } });
    const call = runtime.invoke({ tool: "old__hang" });
    await server.hanging;
    server.die();
    expect(await call).toMatchObject({ status: "error", refusal: { code, retry: "same-key" } });
    expect(server.ran()).toBe(1);
  });

  it("ends its session: the server is connected again, and calls continue", async () => {
    const server = await sseServer();
    const runtime = await configured({ url: `${server.origin}/sse` });
    const { promise: down, resolve: isDown } = Promise.withResolvers<void>();
    const { promise: up, resolve: isUp } = Promise.withResolvers<void>();
    runtime.watch((event) => {
      if (event.moment === "noted" && event.type === "mcp.disconnected") isDown();
      if (event.moment === "noted" && event.type === "mcp.connected") isUp();
    });
    server.die();
    await down;
    await up;
    expect(await runtime.invoke(echo)).toMatchObject({ status: "ok" });
    expect(getsOf(server)).toEqual(["/sse", "/sse"]);
  });
});

it("sends a call once more when the server forgot its session, and runs it once", async () => {
  const server = await sseServer({ statuses: [[404]] });
  const runtime = await configured({ url: `${server.origin}/sse` });
  expect(await runtime.invoke(echo)).toMatchObject({ status: "ok", text: "hello" });
  expect(server.ran()).toBe(1);
});

it("sends no call before the time that the server asked for", async () => {
  const server = await sseServer({ statuses: [[429, { "retry-after": "60" }]] });
  const runtime = await configured({ url: `${server.origin}/sse` });
  expect(await runtime.invoke(echo)).toMatchObject({ refusal: { code: "tool_failed", retry: "later" } });
  expect(await runtime.invoke(echo)).toMatchObject({ refusal: { code: "tool_unavailable" } });
  expect(server.ran()).toBe(0);
});

it("takes an answer up to the limit, and reports of a larger one that the tool ran", async () => {
  const server = await sseServer();
  const runtime = await configured({ url: `${server.origin}/sse` }, 1_000_000);
  const large = (bytes: number) => runtime.invoke({ tool: "old__large", arguments: { bytes } });
  expect(await large(900_000)).toMatchObject({ status: "ok" });
  expect(await large(2_000_000)).toMatchObject({ status: "error", refusal: { code: "result_unavailable" } });
});

it.each([
  [{ url: "http://127.0.0.1:1/sse", transport: "ws" as never }, '`transport` is "ws"; write `http` or `sse`'],
  [{ command: "x", transport: "sse" as const }, "`transport` goes with `url`"],
])("refuses an invalid transport: %j", async (config, why) => {
  await expect(connectMcp(config)).rejects.toThrow(why);
});
