/** Real input schemas of servers: those that their authors' validators accept, and invalid ones. */
import { expect, it } from "vitest";
import type { ToolOutcome } from "../../packages/postern/src/index.ts";
import { Changing, type ListedTool } from "../fakes/changing.ts";
import { asker } from "../fakes/runtime-fixture.ts";
import { closeAfterTest, type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

interface Scene extends ServedRuntime {
  readonly server: Changing;
  call(given: object, tool?: string): Promise<ToolOutcome>;
}

const named = (inputSchema: object, name = "shot"): ListedTool => ({
  name,
  inputSchema: { type: "object", ...inputSchema },
});

async function scene(...tools: readonly ListedTool[]): Promise<Scene> {
  const server = closeAfterTest(new Changing(...tools));
  const offered = await serveRuntime({ servers: { web: server.config({ risk: "safe" }) } });
  const call: Scene["call"] = (given, tool = "shot") =>
    offered.runtime.invoke({ tool: `web__${tool}`, arguments: given as never }, asker); // JSON, as a test writes it
  return { ...offered, server, call };
}

it.each([
  ["at the top", { properties: { scale: { enum: ["css"], default: "css" } }, required: ["scale"] }, {}],
  [
    "within an object",
    {
      properties: {
        clip: { type: "object", properties: { x: { type: "number", default: 0 } }, required: ["x"] },
      },
      required: ["clip"],
    },
    { clip: {} },
  ],
  [
    "within one of several forms",
    {
      anyOf: [
        { properties: { level: { type: "string", default: null } }, required: ["level"] },
        { required: ["never"] },
      ],
    },
    {},
  ],
  [
    "in a definition",
    { properties: { kind: { $ref: "#/$defs/Kind" } }, required: ["kind"], $defs: { Kind: { default: "png" } } },
    {},
  ],
])("leaves a required member with a default to the server: %s", async (_, schema, given) => {
  const { call, server } = await scene(named(schema));
  expect(await call(given)).toMatchObject({ status: "ok" });
  expect(server.given).toEqual([given]);
});

it("still refuses arguments without a required member that has no default", async () => {
  const { call, server } = await scene(named({ properties: { url: { type: "string" } }, required: ["url"] }));
  expect(await call({})).toMatchObject({ refusal: { code: "arguments_invalid" } });
  expect(server.ran).toEqual([]);
});

it("leaves out null for an optional member, and refuses it for a required one", async () => {
  const properties = { url: { type: "string" }, verbose: { type: "boolean" } };
  const { call, server } = await scene(named({ properties, required: ["url"] }));
  expect(await call({ url: "a", verbose: null })).toMatchObject({ status: "ok" });
  expect(await call({ url: null })).toMatchObject({ refusal: { code: "arguments_invalid" } });
  expect(await call({ url: "a", verbose: "yes" })).toMatchObject({ refusal: { code: "arguments_invalid" } });
  expect(server.given).toEqual([{ url: "a" }]);
});

it.each([
  ["an escaped hyphen", { pattern: "^[a-z]+\\-[a-z]+$" }, "a-b", "a_b"],
  ["an escaped underscore", { pattern: "^a\\_b$" }, "a_b", "a-b"],
  ["a hyphen after a class", { pattern: "^[\\w-.]+$" }, "a-.b", "a b"],
  ["a lookbehind and a named group", { pattern: "(?<=x)(?<n>\\d)\\k<n>" }, "x11", "x12"],
])("understands a pattern with %s", async (_, schema, good, bad) => {
  const { call } = await scene(named({ properties: { id: { type: "string", ...schema } } }));
  expect(await call({ id: good })).toMatchObject({ status: "ok" });
  expect(await call({ id: bad })).toMatchObject({ refusal: { code: "arguments_invalid" } });
});

it("understands names of properties as patterns without the `u` flag", async () => {
  const schema = { patternProperties: { "^x\\-[\\w-.]+$": { type: "string" } }, additionalProperties: false };
  const { call } = await scene(named(schema));
  expect(await call({ "x-a.b": "1" })).toMatchObject({ status: "ok" });
  expect(await call({ "y-a": "1" })).toMatchObject({ refusal: { code: "arguments_invalid" } });
});

it.each([
  ["a reference in a default", { properties: { a: { default: { $ref: "x" } } } }, { a: 1 }],
  ["an id in an example", { properties: { a: { examples: [{ $id: "x", $ref: "y.json" }] } } }, { a: 1 }],
  ["a reference in a constant", { properties: { a: { const: { $ref: "x.json" } } } }, { a: { $ref: "x.json" } }],
  [
    "a reference in an enum",
    { properties: { a: { enum: [1, { $ref: "#/no", n: [2] }] } } },
    { a: { $ref: "#/no", n: [2] } },
  ],
  ["a `$schema` inside", { properties: { a: { $schema: "http://json-schema.org/draft-07/schema#" } } }, { a: 1 }],
  [
    "a generic name",
    { properties: { a: { $ref: "#/$defs/List<A>" } }, $defs: { "List<A>": { type: "number" } } },
    { a: 1 },
  ],
  ["a bracketed name", { properties: { a: { $ref: "#/$defs/Page[Item]" } }, $defs: { "Page[Item]": {} } }, { a: 1 }],
  [
    "null for keywords",
    { description: null, properties: { a: { enum: null, items: null } }, required: null },
    { a: 1 },
  ],
])("takes %s", async (_, schema, given) => {
  const { call, runtime } = await scene(named(schema));
  expect(runtime.health().servers[0]?.refused).toEqual([]);
  expect(await call(given)).toMatchObject({ status: "ok" });
});

it("refuses a value that differs from a constant with a reference in it", async () => {
  const { call } = await scene(named({ properties: { a: { const: { $ref: "x", n: [1, null] } } } }));
  for (const a of [
    { $ref: "x" },
    { $ref: "y", n: [1, null] },
    { $ref: "x", n: [1] },
    { $ref: "x", n: [1, null], m: 1 },
  ])
    expect(await call({ a })).toMatchObject({ refusal: { code: "arguments_invalid" } });
});

it.each([
  ["an invalid pattern", { properties: { a: { pattern: "(" } } }, "pattern `(`"],
  ["a reference to nothing", { properties: { a: { $ref: "#/$defs/none" } } }, "points to nothing"],
  ["an unknown type", { properties: { a: { type: "objekt" } } }, "not a valid 2020-12 schema"],
  ["an unknown type beside a pattern", { properties: { a: { type: "objekt", pattern: "a" } } }, "not a valid"],
])("does not offer a tool with %s, and says why", async (_, schema, why) => {
  const { call, runtime, agent, operator, connect } = await scene(named(schema), named({}, "good"));
  const refused = [{ tool: "web__shot", why: expect.stringContaining(why) }];
  await expect.poll(() => runtime.health().servers[0]?.refused).toEqual(refused);
  expect((await operator.health.show()).servers[0]?.refused).toEqual(refused);
  const names = ["web__announce", "web__good"];
  expect(runtime.offered(asker.principal).map(({ tool }) => tool)).toEqual(names);
  expect((await agent.tools.list()).tools.map(({ tool }) => tool)).toEqual(names);
  expect((await (await connect()).listTools()).tools.map(({ name }) => name)).toEqual(names);
  const { refusal } = await call({ a: "x" });
  expect(["tool_unavailable", "tool_unknown"]).toContain(refusal?.code);
  expect(refusal?.message).not.toContain("arguments");
});
