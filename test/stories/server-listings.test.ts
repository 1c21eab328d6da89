/** A server's descriptions of its tools, as every interface passes them on. */
import { expect, it } from "vitest";
import type { ServerConfig } from "../../packages/postern/src/index.ts";
import { Changing, type ListedTool } from "../fakes/changing.ts";
import { closeAfterTest, type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const eras = ["2025-11-25", "2026-07-28"] as const;
const inputSchema = { type: "object" };
const outputSchema = {
  type: "object",
  properties: { tree: { $ref: "#/$defs/Tree" } },
  required: ["tree"],
  additionalProperties: false,
  $defs: { Tree: { type: "object", properties: { next: { $ref: "#/$defs/Tree" } } } },
};
const icons = [{ src: "https://x.example/i.png", mimeType: "image/png", sizes: ["16x16"] }];
const rich: ListedTool = {
  name: "grow",
  title: "Grow a tree",
  description: "Grows.",
  ...{ inputSchema, outputSchema, icons },
  annotations: { title: "T", readOnlyHint: true, openWorldHint: false },
  _meta: { "x.example/ui": { a: 1 }, "postern/risk": "safe" },
};

async function scene(
  tools: readonly ListedTool[],
  config: Partial<ServerConfig> = {},
): Promise<ServedRuntime & { readonly server: Changing }> {
  const server = closeAfterTest(new Changing(...tools));
  return { ...(await serveRuntime({ servers: { wood: server.config({ risk: "safe", ...config }) } })), server };
}

it.each(eras)("passes title, icons, `_meta`, hints and output schema on over MCP %s", async (era) => {
  const { connect } = await scene([rich]);
  for (const [path, name] of [
    ["/mcp", "wood__grow"],
    ["/mcp/wood", "grow"],
  ] as const) {
    const { tools } = await (await connect(path, era)).listTools();
    expect(tools.find((tool) => tool.name === name)).toMatchObject({
      ...{ title: "Grow a tree", description: "Grows.", icons },
      annotations: { readOnlyHint: true, openWorldHint: false },
      _meta: { "x.example/ui": { a: 1 }, "postern/risk": "safe" },
      outputSchema: { type: "object", anyOf: [{ properties: outputSchema.properties }, {}] },
    });
  }
});

it("passes them on over HTTP and in the library", async () => {
  const { runtime, agent } = await scene([rich]);
  const messages = {
    annotations: { readOnlyHint: true, openWorldHint: false },
    icons,
    meta: { "x.example/ui": { a: 1 } },
  };
  const [shown] = (await agent.tools.list()).tools.filter(({ tool }) => tool === "wood__grow");
  expect(shown).toMatchObject({ ...messages, title: "Grow a tree", output_schema: outputSchema });
  expect(shown?.meta).not.toHaveProperty("postern/risk");
  const [offered] = runtime.offered().filter(({ tool }) => tool === "wood__grow");
  expect(offered).toMatchObject({ ...messages, title: "Grow a tree", outputSchema });
});

it.each(eras)("keeps an answer that does not fit the output schema, over MCP %s", async (era) => {
  const { connect, server } = await scene([rich]);
  const client = await connect("/mcp/wood", era);
  await client.listTools();
  for (const answer of [
    { content: [{ type: "text", text: "as text" }], structuredContent: { branch: 1 } },
    { content: [{ type: "text", text: "as text" }], structuredContent: { tree: { next: {} } } },
  ]) {
    server.answers({ grow: answer });
    expect(await client.callTool({ name: "grow", arguments: {} })).toMatchObject({ isError: false, ...answer });
  }
});

it.each(eras)(
  "gives clients structured content although the tool broke its output schema, over MCP %s",
  async (era) => {
    const tool = { description: "d", risk: "safe", idempotent: true, input: { type: "object" } } as const;
    const { connect } = await serveRuntime({ tools: [{ ...tool, name: "t", outputSchema, execute: () => "as text" }] });
    const client = await connect("/mcp", era);
    await client.listTools();
    const told = {
      isError: false,
      content: [{ type: "text", text: "as text" }],
      structuredContent: { text: "as text" },
    };
    expect(await client.callTool({ name: "t", arguments: {} })).toMatchObject(told);
  },
);

it("leaves out invalid icons and `_meta`, and offers the tool", async () => {
  const odd = { ...rich, icons: [...icons, { src: "javascript:alert(1)" }, 7], _meta: [] } as unknown as ListedTool;
  const huge = { ...rich, name: "huge", icons: [{ src: `data:image/png;base64,${"A".repeat(300_000)}` }], _meta: null };
  const { agent } = await scene([odd, huge]);
  const { tools } = await agent.tools.list();
  expect(tools.find(({ tool }) => tool === "wood__grow")).toMatchObject({ icons });
  expect(tools.find(({ tool }) => tool === "wood__huge")?.icons).toBeUndefined();
  expect(tools.find(({ tool }) => tool === "wood__huge")?.meta).toBeUndefined();
});

it("does not block a tool because its icons or `_meta` changed", async () => {
  const { runtime, server } = await scene([rich]);
  server.define({ ...rich, icons: null, _meta: { at: 2 } }, { name: "other", inputSchema });
  await runtime.invoke({ tool: "wood__announce" }, { principal: { tenant: "default", agent: "a" } });
  await expect.poll(() => runtime.tools.has("wood__other")).toBe(true);
  expect(runtime.tools.blocked("wood__grow")).toBeUndefined();
});

const destructive = { destructiveHint: true };
it.each([
  ["it is not classified", {}, undefined, { idempotentHint: false }],
  [
    "its server calls it harmless",
    {},
    { destructiveHint: false, readOnlyHint: false },
    { readOnlyHint: false, idempotentHint: false },
  ],
  ["its server warns", {}, destructive, { ...destructive, idempotentHint: false }],
  ["its server says that it reads", {}, { readOnlyHint: true }, { readOnlyHint: true, idempotentHint: false }],
  ["its server knows its own world", {}, { openWorldHint: false }, { openWorldHint: false, idempotentHint: false }],
  [
    "the operator says that it writes",
    { effects: "write" },
    { readOnlyHint: true },
    { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  ],
  [
    "the operator says that it writes and its server warns",
    { effects: "write" },
    destructive,
    { readOnlyHint: false, ...destructive, idempotentHint: false },
  ],
  [
    "the operator says that it destroys",
    { effects: "destructive", risk: "high" },
    { destructiveHint: false },
    { readOnlyHint: false, ...destructive, idempotentHint: false },
  ],
  [
    "the operator says that it is open",
    { openWorld: true },
    { openWorldHint: false },
    { openWorldHint: true, idempotentHint: false },
  ],
] as const)("gives clients only the known hints if %s", async (_, own, annotations, told) => {
  const tool = { name: "act", inputSchema, ...(annotations !== undefined && { annotations }) };
  const server = closeAfterTest(new Changing(tool));
  const { connect, agent, runtime } = await serveRuntime({
    servers: { wood: server.config({ risk: "safe", tools: { act: own } }) },
    policy: { rules: [{ effect: "confirm", tool: "wood__act" }] }, // what destroys needs a rule of its own
  });
  const { tools } = await (await connect("/mcp/wood")).listTools();
  expect(tools.find(({ name }) => name === "act")?.annotations).toEqual(told);
  expect((await agent.tools.list()).tools.find((one) => one.tool === "wood__act")?.annotations).toEqual(told);
  expect(runtime.tools.offer("wood__act")?.facts).toMatchObject({ effects: "effects" in own ? own.effects : "write" });
});

it("calls its own tool harmless only if its author declared it", async () => {
  const tool = {
    description: "d",
    risk: "high",
    idempotent: true,
    input: { type: "object" },
    execute: () => "",
  } as const;
  const { runtime } = await serveRuntime({
    tools: [
      { ...tool, name: "silent" },
      { ...tool, name: "writes", effects: "write" },
    ],
  });
  expect(runtime.offered().map(({ annotations }) => annotations.destructiveHint)).toEqual([undefined, false]);
});

const nothing = {
  title: null,
  description: null,
  outputSchema: null,
  annotations: { readOnlyHint: null, title: null },
  icons: null,
  _meta: null,
  execution: null,
};

it("treats null as absent for an optional member of a tool and of its list", async () => {
  const server = closeAfterTest(new Changing());
  server.define(
    {
      name: "a",
      ...nothing,
      inputSchema: { type: "object", properties: null, required: null, $schema: null },
    } as unknown as ListedTool,
    { name: "b", inputSchema, annotations: null },
  );
  server.list({ nextCursor: null, ttlMs: null, cacheScope: null });
  server.answers({
    b: {
      content: [{ type: "text", text: "hi", annotations: null, _meta: null }],
      isError: null,
      structuredContent: null,
    },
  });
  const { runtime, connect } = await serveRuntime({ servers: { wood: server.config({ risk: "safe" }) } });
  expect(runtime.health().servers).toMatchObject([{ status: "connected", refused: [] }]);
  expect(runtime.offered().map(({ tool }) => tool)).toEqual(["wood__a", "wood__announce", "wood__b"]);
  const client = await connect("/mcp/wood");
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["a", "announce", "b"]);
  expect(await client.callTool({ name: "b" })).toMatchObject({
    content: [{ type: "text", text: "hi" }],
    isError: false,
  });
});
