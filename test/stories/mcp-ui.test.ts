/** Pages that MCP clients show for tools (MCP Apps): ours and those of upstream servers. */
import { describe, expect, it } from "vitest";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import type { DeclaredUi } from "../../packages/postern/src/tools/kinds.ts";
import { Changing, type ListedTool } from "../fakes/changing.ts";
import { closeAfterTest, serveRuntime } from "../fakes/served-runtime.ts";

const pageType = "text/html;profile=mcp-app";
const html = "<!doctype html><p>Sunny</p>";
const eras = ["2025-11-25", "2026-07-28"] as const;

const weather = defineTool({
  ...{ name: "weather", description: "Tells the weather.", risk: "safe", idempotent: true, input: { type: "object" } },
  ui: {
    ...{ resourceUri: "ui://weather/view", html, prefersBorder: true, permissions: ["geolocation"] },
    csp: { connectDomains: ["https://api.example.com"] },
  },
  execute: () => "sunny",
});

const chart: ListedTool = {
  name: "chart",
  description: "Draws a chart.",
  inputSchema: { type: "object" },
  _meta: { ui: { resourceUri: "ui://chart/view", visibility: ["model", "app"] }, "ui/resourceUri": "ui://chart/view" },
};

function charts(text = html): Changing {
  const server = closeAfterTest(new Changing(chart));
  server.resources({ "ui://chart/view": { mimeType: pageType, text, _meta: { ui: { csp: {} } } } });
  return server;
}

function metaOf(tools: readonly { readonly name: string; readonly _meta?: unknown }[], name: string): unknown {
  return tools.find((tool) => tool.name === name)?._meta;
}

describe("a tool of ours", () => {
  it.each(eras)("is listed with the address of its page, which can be read (%s)", async (era) => {
    const { connect, agent } = await serveRuntime({ tools: [weather] });
    const client = await connect("/mcp", era);
    expect(metaOf((await client.listTools()).tools, "weather")).toMatchObject({
      ui: { resourceUri: "ui://weather/view" },
    });
    const { contents } = await client.readResource({ uri: "ui://weather/view" });
    const ui = {
      ...{
        csp: { connectDomains: ["https://api.example.com"] },
        permissions: { geolocation: {} },
        prefersBorder: true,
      },
    };
    expect(contents).toEqual([{ uri: "ui://weather/view", mimeType: pageType, text: html, _meta: { ui } }]);
    const {
      tools: [shown],
    } = await agent.tools.list();
    expect(shown).toMatchObject({ ui: { resource_uri: "ui://weather/view", permissions: ["geolocation"] } });
    expect(JSON.stringify(shown)).not.toContain("Sunny");
  });

  it("is listed without an address when it has no page", async () => {
    const { connect } = await serveRuntime({ tools: [{ ...weather, ui: { resourceUri: "ui://weather/view" } }] });
    const client = await connect();
    expect(metaOf((await client.listTools()).tools, "weather")).not.toHaveProperty("ui");
    await expect(client.readResource({ uri: "ui://weather/view" })).rejects.toThrow("No tool here has a page");
  });

  it.each<[string, object, string]>([
    ["resourceUri", { resourceUri: "https://example.com/x" }, "must be an address such as `ui://weather/view`"],
    ["csp", { resourceUri: "ui://a", csp: "default-src *" }, "must be an object of lists"],
    ["permissions", { resourceUri: "ui://a", permissions: ["usb"] }, "has `usb`; it may have camera"],
    ["html", { resourceUri: "ui://a", html: 7 }, "must be a text"],
  ])("is refused with a wrong %s", async (member, ui, why) => {
    const opening = createRuntime({ tools: [{ ...weather, ui: ui as DeclaredUi }] });
    await expect(opening).rejects.toThrow(`\`ui.${member}\` ${why}`);
  });
});

describe("a server's tool", () => {
  it.each(eras)("is passed on with its page, whose address names the server (%s)", async (era) => {
    const server = charts();
    const { connect } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
    for (const [path, name, uri] of [
      ["/mcp", "s__chart", "ui://s/chart/view"],
      ["/mcp/s", "chart", "ui://chart/view"],
    ] as const) {
      const client = await connect(path, era);
      expect(metaOf((await client.listTools()).tools, name)).toMatchObject({
        ...{ ui: { resourceUri: uri, visibility: ["model", "app"] }, "ui/resourceUri": uri },
      });
      const { contents } = await client.readResource({ uri });
      expect(contents).toEqual([{ uri, mimeType: pageType, text: html, _meta: { ui: { csp: {} } } }]);
    }
  });

  it("has its page listed by a server that checks whether its client shows pages", async () => {
    const { agent } = await serveRuntime({ servers: { s: charts().config({ risk: "safe" }) } });
    const ui = expect.objectContaining({ resource_uri: "ui://chart/view" });
    expect((await agent.tools.list()).tools).toContainEqual(expect.objectContaining({ ui }));
  });

  it("has its page blocked after a change, until an operator approves it", async () => {
    const server = charts();
    const { connect, runtime, operator } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
    const client = await connect();
    const read = () => client.readResource({ uri: "ui://s/chart/view" });
    await read();
    server.resources({ "ui://chart/view": { mimeType: pageType, text: "<p>Other</p>" } });
    await expect(read()).rejects.toThrow("it changed since it was trusted");
    const changes = runtime.pins.changes("s__chart.ui");
    expect(changes).toMatchObject({ state: "changed", server: "s" });
    expect(JSON.stringify(changes?.differences)).toContain("Other");
    expect((await client.callTool({ name: "s__chart" })).isError).toBe(false);
    await operator.tools.approve({ name: "s__chart.ui", definition: changes?.offered?.digest ?? "" });
    expect((await read()).contents).toMatchObject([{ text: "<p>Other</p>" }]);
  });

  it("of a strict server has no page before an operator approved it", async () => {
    const server = charts();
    const { connect, runtime } = await serveRuntime({ servers: { s: server.config({ risk: "safe", pin: "strict" }) } });
    const approve = (name: string) =>
      runtime.pins.approve(name, {
        by: "boss",
        via: "t",
        definition: runtime.pins.changes(name)?.offered?.digest ?? "",
      });
    const client = await connect();
    const read = () => client.readResource({ uri: "ui://s/chart/view" });
    await expect(read()).rejects.toThrow("No tool here has a page");
    await approve("s__chart");
    await expect(read()).rejects.toThrow("no operator has approved it yet");
    await approve("s__chart.ui");
    expect((await read()).contents).toHaveLength(1);
  });

  it("gives its page only to callers that may use the tool, and no other resource of the server", async () => {
    const server = charts();
    const denied = { rules: [{ effect: "deny", tool: "s__chart" }] } as const;
    const servers = { s: server.config({ risk: "safe" }) };
    const { connect } = await serveRuntime({ servers, policy: denied });
    await expect((await connect()).readResource({ uri: "ui://s/chart/view" })).rejects.toThrow("No tool here");
    const { connect: connectOther, runtime } = await serveRuntime({ servers });
    const client = await connectOther();
    await expect(client.readResource({ uri: "ui://s/other" })).rejects.toThrow("No tool here has a page");
    await runtime.controls.setTool("s__chart", false, { by: "boss", via: "t" });
    await expect(client.readResource({ uri: "ui://s/chart/view" })).rejects.toThrow();
  });

  it("has no page if the page is not HTML", async () => {
    const server = charts();
    server.resources({ "ui://chart/view": { mimeType: "application/json", text: "{}" } });
    const { connect } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
    await expect((await connect()).readResource({ uri: "ui://s/chart/view" })).rejects.toThrow("`text/html`");
  });
});
