import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LocalTool, RuntimeOptions } from "../../packages/postern/src/index.ts";
import { type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const ran: unknown[] = [];

function tool(name: string, description: string, more: Partial<LocalTool> = {}): LocalTool {
  return {
    ...{
      name,
      description,
      risk: "safe",
      idempotent: true,
      input: { type: "object", properties: { n: { type: "integer" } } },
    },
    execute: (given: unknown) => {
      ran.push([name, given]);
      return `${name} has run`;
    },
    ...more,
  } as LocalTool;
}

const many = Array.from({ length: 300 }, (_, n) => tool(`filler_${n}`, `Does thing number ${n}.`));
const tools = [
  ...many,
  tool("create_pull_request", "Opens a pull request.\nWith a title and a body."),
  tool("listInvoices", "Lists the invoices of a customer."),
  tool("send_mail", "Sends a mail.", { risk: "high", effects: "write", idempotent: false }),
  tool("secret_report", "A report on invoices."),
];

async function open(mode: string, options: RuntimeOptions = {}): Promise<{ client: Client; served: ServedRuntime }> {
  ran.length = 0;
  const served = await serveRuntime({
    ...{ tools, autonomy: "A2", policy: { rules: [{ effect: "deny", tool: "secret_report" }] }, ...options },
  });
  return { client: await served.connect(`/mcp?mode=${mode}`), served };
}

const textOf = async (client: Client, name: string, given: Record<string, unknown>): Promise<string> => {
  const { content } = await client.callTool({ name, arguments: given });
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
};

describe("an endpoint in search mode", () => {
  it("lists three tools instead of hundreds, and finds the others by words", async () => {
    const { client } = await open("search");
    const { tools: listed } = await client.listTools();
    expect(listed.map(({ name }) => name).sort()).toEqual(["call_tool", "describe_tool", "search_tools"]);
    const found = await textOf(client, "search_tools", { query: "pull request" });
    expect(found.split("\n")[0]).toBe("create_pull_request: Opens a pull request.");
    expect(await textOf(client, "search_tools", { query: "invoice", limit: 1 })).toMatch(/^listInvoices: /);
    expect((await textOf(client, "search_tools", { query: "", limit: 3 })).split("\n")).toHaveLength(3);
  });

  it("shows nothing that the caller may not see", async () => {
    const { client } = await open("search");
    expect(await textOf(client, "search_tools", { query: "report" })).not.toContain("secret_report");
    expect(await textOf(client, "describe_tool", { names: ["secret_report"] })).toContain("There is no tool");
  });

  it("describes a tool whole, and calls it on the path of every call", async () => {
    const { client, served } = await open("search");
    const described = JSON.parse(await textOf(client, "describe_tool", { names: ["send_mail"] }));
    expect(described).toMatchObject([{ name: "send_mail", risk: "high", inputSchema: { properties: { n: {} } } }]);
    const call = { name: "call_tool", arguments: { name: "send_mail", arguments: { n: 1 } } };
    expect(await client.callTool(call)).toMatchObject({ structuredContent: { status: "approval_pending" } });
    const { approvals } = await served.operator.approvals.list({});
    expect(approvals).toMatchObject([{ what: { tool: "send_mail" } }]);
    await served.operator.approvals.approve({ id: approvals[0]?.approval_id ?? "" });
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: "send_mail has run" }] });
    expect(ran).toEqual([["send_mail", { n: 1 }]]);
    expect((await served.runtime.calls.list()).map(({ call: { tool: name } }) => name)).toContain("send_mail");
  });

  it.each([
    ["send_mail", { n: 1 }, /lists `call_tool`, `describe_tool`, `search_tools`/],
    ["call_tool", { name: "no_such_tool" }, /no_such_tool/],
  ])("runs nothing for a call of %s", async (name, given, reason) => {
    const { client } = await open("search");
    expect(await textOf(client, name, given)).toMatch(reason);
    expect(ran).toEqual([]);
  });

  it.each([
    ["search_tools", { query: 7 }],
    ["search_tools", { query: "x", limit: 0 }],
    ["describe_tool", { names: "send_mail" }],
    ["call_tool", { name: "send_mail", arguments: [] }],
  ])("refuses arguments of %s of a wrong type: %j", async (name, given) => {
    const { client } = await open("search");
    await expect(client.callTool({ name, arguments: given })).rejects.toMatchObject({ code: -32_602 });
  });

  it("follows the tools: what is registered later is found", async () => {
    const { client, served } = await open("search");
    expect(await textOf(client, "search_tools", { query: "weather" })).toContain("No tool");
    served.runtime.tools.register(tool("weather", "Tells the weather."));
    await expect.poll(() => textOf(client, "search_tools", { query: "weather" })).toContain("weather: Tells");
  });
});

it("an endpoint in code mode lists the tool that runs scripts, and those that find and describe the others", async () => {
  const { client } = await open("code", { chains: {} });
  const { tools: listed } = await client.listTools();
  expect(listed.map(({ name }) => name).sort()).toEqual(["describe_tool", "search_tools", "tool_chain"]);
  expect(await textOf(client, "tool_chain", { code: "return await tools.listInvoices({ n: 2 })" })).toContain(
    "has run",
  );
  expect(ran).toEqual([["listInvoices", { n: 2 }]]);
});

it("a mode that there is not is refused, with those that there are", async () => {
  const served = await serveRuntime({ tools });
  const transport = new StreamableHTTPClientTransport(new URL("/mcp?mode=fast", served.url), {
    requestInit: { headers: { authorization: `Bearer ${served.token}` } },
  });
  const client = new Client({ name: "t", version: "1" });
  onTestFinished(() => client.close());
  await expect(client.connect(transport)).rejects.toThrow("?mode=search");
});
