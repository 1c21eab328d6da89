import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { type Answer, rawHttp, reply } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime, type Runtime, type ServerConfig } from "../../index.ts";

async function open(server: ServerConfig): Promise<Runtime> {
  const runtime = await createRuntime({ servers: { one: { ...server, risk: "safe" } } });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

const probe = "server/discover";
const odd: readonly (readonly [string, Answer])[] = [
  ["HTTP 401", (_request, response) => reply(response, "no token for this", 401)],
  ["HTTP 403", (_request, response) => reply(response, "forbidden", 403)],
  ["HTTP 500", (_request, response) => reply(response, "TypeError: undefined", 500)],
  ["HTTP 502", (_request, response) => reply(response, "<html>", 502, { "content-type": "text/html" })],
  ["an empty 200", (_request, response) => reply(response, "")],
  ["a page", (_request, response) => reply(response, "<html>", 200, { "content-type": "text/html" })],
  [
    "HTTP 202",
    (_request, response) => {
      response.writeHead(202).end();
      return true;
    },
  ],
  [
    "its hanging up",
    (_request, response) => {
      response.destroy();
      return true;
    },
  ],
];

it.each(odd)(
  "a server of 2025 that answers the question for its revision with %s is connected",
  async (_what, answer) => {
    const { url, asked } = await rawHttp((request, response) => request.method === probe && answer(request, response));
    const runtime = await open({ url });
    expect(runtime.health().servers).toMatchObject([{ status: "connected" }]);
    expect(await runtime.invoke({ tool: "one__t" })).toMatchObject({ status: "ok" });
    expect(asked.filter((method) => method === "initialize")).toHaveLength(1);
  },
);

it("a server that says nothing to it is asked as one of 2025", async () => {
  const { url, asked } = await rawHttp(({ method }) => method === probe);
  const runtime = await open({ url, startTimeoutMs: 2_000 });
  expect(runtime.health().servers).toMatchObject([{ status: "connected" }]);
  expect(asked.slice(0, 2)).toEqual([probe, "initialize"]);
});

it("reports that a server needs a token, by its answer to `initialize`", async () => {
  const { url, asked } = await rawHttp((_request, response) => reply(response, "token expired", 401));
  const runtime = await open({ url });
  expect(runtime.health().servers).toMatchObject([
    { status: "disconnected", problem: expect.stringContaining("token expired") },
  ]);
  expect(asked.slice(0, 2)).toEqual([probe, "initialize"]);
});

it.each([
  ["error", 1, 55_000],
  ["silent", 1, 12_000], // Postern waits for half of this
  ["exit", 2, 55_000],
] as const)(
  "over pipes a server that meets the question with %s is connected after %s start(s)",
  async (onProbe, starts, startTimeoutMs) => {
    const file = join(ownFolder(), "starts");
    const options = JSON.stringify({ onProbe, starts: file });
    const server: ServerConfig = { command: process.execPath, args: ["test/fakes/raw-server.ts", options] };
    const runtime = await open({ ...server, startTimeoutMs });
    await expect.poll(() => runtime.health().servers, { timeout: 55_000 }).toMatchObject([{ status: "connected" }]);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(starts);
  },
);

it("a revision in the configuration is not asked for", async () => {
  const { url, asked } = await rawHttp(() => false);
  const offered: unknown[] = [];
  const other = await rawHttp(({ method, params }) => {
    if (method === "initialize") offered.push(Reflect.get(params ?? {}, "protocolVersion"));
    return false;
  });
  await open({ url, revision: "2025-11-25" });
  await open({ url: other.url, revision: "2025-03-26" });
  expect(asked[0]).toBe("initialize");
  expect(offered).toEqual(["2025-03-26"]);
});

it("a server of 2026 whose revision is configured need not tell what it is", async () => {
  const { url, asked } = await rawHttp(({ method, id }, response) => {
    if (method === "initialize" || method === probe) return reply(response, "not here", 500);
    const result =
      method === "tools/list" ? { tools: [{ name: "t", inputSchema: { type: "object" } }] } : { content: [] };
    const more = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
    return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result: { ...result, ...more } }));
  });
  const runtime = await open({ url, revision: "2026-07-28" });
  expect(await runtime.invoke({ tool: "one__t" })).toMatchObject({ status: "ok" });
  expect(asked).not.toContain("initialize");
});

it("a revision that there is not is refused", async () => {
  await expect(
    createRuntime({ servers: { one: { url: "http://localhost/", revision: "2024" as never } } }),
  ).rejects.toThrow('Server `one`: `revision` is "2024"; write `2026-07-28` or `2025-11-25`');
});

it("tools are listed and followed of a server that did not declare them, and more than 64 pages of them", async () => {
  const options = JSON.stringify({ declares: {}, pageSize: 1, tools: 80 });
  const runtime = await open({ command: process.execPath, args: ["test/fakes/raw-server.ts", options] });
  expect(runtime.tools.size).toBe(84);
  const grown = Promise.withResolvers<void>();
  runtime.tools.follow(({ name }) => name === "one__grown" && grown.resolve());
  await runtime.invoke({ tool: "one__grow" });
  await grown.promise;
  expect(runtime.tools.size).toBe(85);
});

it("a server without tools is connected all the same", async () => {
  const { url } = await rawHttp(({ method, id }, response) => {
    const error = { code: -32_601, message: "Method not found" };
    if (method === "tools/list") return reply(response, JSON.stringify({ jsonrpc: "2.0", id, error }));
    if (method !== "initialize") return false;
    const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "none", version: "1" } };
    return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  expect((await open({ url })).health().servers).toMatchObject([{ status: "connected" }]);
});
