/** Deferred tools at `/mcp`: not listed until a client has found them, and callable then. */
import type { Client } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { rawHttp, reply } from "../fakes/raw-http.ts";
import { type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const eras = ["2025-11-25", "2026-07-28"] as const;
const names = ["create_issue", "close_issue", "list_invoices", "tool_ping"];

async function open(
  toolSettings: Readonly<Record<string, object>> = {},
  more: RuntimeOptions = {},
): Promise<ServedRuntime> {
  const { url } = await rawHttp(({ method, id }, response) => {
    if (method !== "tools/list") return false;
    const tools = names.map((name) => ({ name, description: `Does ${name}.`, inputSchema: { type: "object" } }));
    return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result: { tools } }));
  });
  const tools = { tool_ping: { defer: false }, ...toolSettings };
  return serveRuntime({ ...more, servers: { s: { url, revision: "2025-11-25", risk: "safe", defer: true, tools } } });
}

async function listed(client: Client): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

async function search(client: Client, given: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool({ name: "tool_search", arguments: given });
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

/** Resolves when the client is told that its list has changed. */
function told(client: Client): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  client.setNotificationHandler("notifications/tools/list_changed", () => resolve());
  return promise;
}

it.each(eras)("lists the tools that a client of %s has found, tells it, and calls them", async (era) => {
  const served = await open();
  const client = await served.connect("/mcp", era);
  expect(await listed(client)).toEqual(["tool_search", "s__tool_ping"]);
  const changed = told(client);
  if (era === "2026-07-28") await client.listen({ toolsListChanged: true });
  expect((await search(client, { query: "issues" })).split("\n")).toEqual([
    "s__close_issue: Does close_issue.",
    "s__create_issue: Does create_issue.",
  ]);
  await changed;
  expect(await listed(client)).toEqual(["tool_search", "s__close_issue", "s__create_issue", "s__tool_ping"]);
  expect(await client.callTool({ name: "s__create_issue" })).toMatchObject({ content: [{ text: "done" }] });
});

it("keeps what is found for the session and the endpoint of the client", async () => {
  const served = await open();
  const [one, other] = [await served.connect("/mcp", "2025-11-25"), await served.connect("/mcp", "2025-11-25")];
  const ofServer = await served.connect("/mcp/s");
  expect(await search(one, { query: "invoices" })).toContain("s__list_invoices");
  expect(await listed(other)).toEqual(["tool_search", "s__tool_ping"]);
  expect(await listed(ofServer)).toEqual(["tool_search", "tool_ping"]);
  expect(await search(ofServer, { query: "invoices" })).toMatch(/^list_invoices: /);
  expect(await listed(ofServer)).toEqual(["tool_search", "list_invoices", "tool_ping"]);
});

it("finds no tool that is listed anyway, or that the caller may not see", async () => {
  const served = await open({}, { policy: { rules: [{ effect: "deny", tool: "s__list_invoices" }] } });
  const client = await served.connect();
  expect(await search(client, { query: "ping" })).toContain("No tool has a word of");
  expect(await search(client, { query: "invoices" })).toContain("No tool has a word of");
  await expect(search(client, { query: "x", limit: 0 })).rejects.toMatchObject({ code: -32_602 });
  for (const query of ["x".repeat(100_000), "x y ".repeat(25_000)]) // each would take long, and the memory of the process
    await expect(search(client, { query })).rejects.toMatchObject({ code: -32_602 });
});

it("lists all tools when one of them has the name of the search", async () => {
  const served = await open({ create_issue: { as: "tool_search" } });
  expect(await listed(await served.connect("/mcp/s"))).toEqual([
    "close_issue",
    "list_invoices",
    "tool_ping",
    "tool_search",
  ]);
});
