/** What a client of MCP 2026-07-28 was told or has found at one gateway, it is told and finds at another one too. */
import type { Client } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { defineTool } from "../../../packages/postern/src/index.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { type ServedRuntime, serveRuntime } from "../../fakes/served-runtime.ts";
import { skillText, writeSkill } from "../../fakes/skill-folder.ts";

const postgres = testPostgres();
const ada = { by: "ada", via: "test" } as const;
const tool = (name: string, deferLoading = false) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, risk: "safe", effects: "read", idempotent: true, deferLoading },
    ...{ inputSchema: { type: "object" }, execute: () => "done" },
  });

/** Gateways of one store. */
function opener(): () => Promise<ServedRuntime> {
  const store = postgres.newStore();
  const folder = ownFolder();
  writeSkill(folder, "reader", skillText("name: reader\ndescription: Reads.\nallowed-tools: echo"));
  const tools = [tool("echo"), tool("list_invoices", true)];
  return () => serveRuntime({ store, tools, skills: { folders: [folder] } });
}

async function listed(client: Client): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

async function changesTold(client: Client): Promise<() => number> {
  let told = 0;
  client.setNotificationHandler("notifications/tools/list_changed", () => {
    told += 1;
  });
  await client.listen({ toolsListChanged: true });
  return () => told;
}

it("tells a client that listens of what an operator changed at another gateway", async () => {
  const open = opener();
  const [a, b] = [await open(), await open()];
  const client = await a.connect();
  const told = await changesTold(client);
  await b.runtime.controls.setTool("echo", false, ada);
  await expect.poll(told).toBe(1);
  await b.runtime.skills?.activate({ tenant: "default", runId: "r", agent: "a" }, "reader", ada);
  await expect.poll(told).toBe(2);
});

it("lists at each gateway the deferred tools that a client found at one", async () => {
  const open = opener();
  const [a, b] = [await open(), await open()];
  const [atA, atB] = [await a.connect(), await b.connect()];
  const told = await changesTold(atB);
  expect(await listed(atB)).not.toContain("list_invoices");
  await atA.callTool({ name: "tool_search", arguments: { query: "invoices" } });
  await expect.poll(told).toBe(1);
  expect(await listed(atB)).toContain("list_invoices");
  const later = await (await open()).connect();
  await expect.poll(() => listed(later)).toContain("list_invoices");
});
