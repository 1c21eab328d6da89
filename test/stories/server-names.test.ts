/** Names of a server's tools that clash, imitate others, or appear later. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { createRuntime, type Runtime, type ServerConfig } from "../../packages/postern/src/index.ts";
import { actor } from "../fakes/actors.ts";
import { Changing, type ListedTool } from "../fakes/changing.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker } from "../fakes/runtime-fixture.ts";
import { closeAfterTest, serveRuntime } from "../fakes/served-runtime.ts";

const named = (name: string, description = ""): ListedTool => ({ name, description, inputSchema: { type: "object" } });
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

it.each([
  ["read-file", "read_file"],
  ["getUser", "get_user"],
  ["List", "list"],
] as const)("lets an operator rename one of two names that look alike: %s and %s", async (one, other) => {
  const server = closeAfterTest(new Changing(named(one), named(other)));
  const clash = await createRuntime({ servers: { s: server.config({ risk: "safe" }) } });
  cleanups.push(() => clash.close());
  const refused = clash.health().servers[0]?.refused ?? [];
  if (one !== "getUser")
    expect(refused).toEqual([
      { tool: `s__${other}`, why: expect.stringContaining("`as` of the tool in `servers.s.tools`") },
    ]);
  const tools = { [other]: { as: "second" } };
  const { runtime, connect } = await serveRuntime({ servers: { s: server.config({ risk: "safe", tools }) } });
  expect(runtime.health().servers[0]?.refused).toEqual([]);
  expect(await runtime.invoke({ tool: "s__second" }, asker)).toMatchObject({ status: "ok" });
  const client = await connect("/mcp/s");
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("second");
  expect(await client.callTool({ name: "second" })).toMatchObject({ isError: false });
  expect(await client.callTool({ name: one })).toMatchObject({ isError: false });
  expect(server.ran).toEqual([other, other, one]);
});

it("offers neither of two tools with one name, and says so", async () => {
  const server = closeAfterTest(
    new Changing(named("send", "Sends."), named("send", "Sends to the author."), named("good")),
  );
  const { runtime, operator } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
  const refused = [{ tool: "s__send", why: expect.stringMatching(/lists 2 different tools of this name/) }];
  expect(runtime.health().servers[0]?.refused).toEqual(refused);
  expect((await operator.health.show()).servers[0]?.refused).toEqual(refused);
  expect(await runtime.invoke({ tool: "s__send" }, asker)).toMatchObject({ refusal: { code: "tool_unknown" } });
  expect(runtime.offered().map(({ tool }) => tool)).toEqual(["s__announce", "s__good"]);
});

it("offers a tool that is listed twice with the same definition", async () => {
  const server = closeAfterTest(new Changing(named("send"), named("send")));
  const { runtime } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
  expect(runtime.health().servers[0]?.refused).toEqual([]);
  expect(runtime.tools.has("s__send")).toBe(true);
});

it("offers neither of two tools that an operator gave one name", async () => {
  const server = closeAfterTest(new Changing(named("a"), named("b")));
  const { runtime } = await serveRuntime({ servers: { s: server.config({ tools: { a: { as: "b" } } }) } });
  const why = expect.stringContaining("Change `servers.s.tools.a.as` and `servers.s.tools.b.as`");
  expect(runtime.health().servers[0]?.refused).toEqual([{ tool: "s__b", why }]);
});

/** Starts Postern on its earlier store. */
function restarting(server: Changing): (config?: Partial<ServerConfig>) => Promise<Runtime> {
  const folder = ownFolder();
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return async (config) => {
    const store = `sqlite:${join(folder, "postern.db")}`;
    const runtime = await createRuntime({
      store,
      autonomy: "A4",
      servers: { s: server.config({ risk: "safe", ...config }) },
    });
    cleanups.push(() => runtime.close());
    return runtime;
  };
}

const isBlocked = (runtime: Runtime, tool: string): string | undefined => runtime.tools.blocked(tool)?.why;

it("blocks a tool that a server adds while it runs, until an operator approves it", async () => {
  const server = closeAfterTest(new Changing(named("first")));
  const runtime = await restarting(server)();
  server.define(named("first"), named("later"));
  expect(await runtime.invoke({ tool: "s__announce" }, asker)).toMatchObject({ status: "ok" });
  await expect.poll(() => isBlocked(runtime, "s__later")).toBe("new");
  expect(await runtime.invoke({ tool: "s__later" }, asker)).toMatchObject({ refusal: { code: "tool_unavailable" } });
  expect(server.ran).toEqual([]);
  const definition = runtime.pins.changes("s__later")?.offered?.digest ?? "";
  expect(await runtime.pins.approve("s__later", { ...actor("ann"), definition })).toMatchObject({ approved: true });
  expect(await runtime.invoke({ tool: "s__later" }, asker)).toMatchObject({ status: "ok" });
});

it("blocks a tool that a server added between two starts, and keeps the earlier ones", async () => {
  const server = closeAfterTest(new Changing(named("first"), named("off")));
  const start = restarting(server);
  await (await start({ tools: { off: { enabled: false } } })).close();
  server.define(named("first"), named("off"), named("later"));
  const runtime = await start();
  expect(["s__first", "s__off", "s__later"].map((tool) => isBlocked(runtime, tool))).toEqual([
    undefined,
    undefined,
    "new",
  ]);
});

it("blocks a tool of a server whose first list was empty", async () => {
  const server = closeAfterTest(new Changing());
  const start = restarting(server);
  await (await start({ tools: { announce: { enabled: false } } })).close();
  server.define(named("later"));
  expect(isBlocked(await start(), "s__later")).toBe("new");
});

it("trusts a tool that the operator renamed, and no other one under its new name", async () => {
  const server = closeAfterTest(new Changing(named("first"), named("second")));
  const start = restarting(server);
  await (await start()).close();
  const renamed = await start({ tools: { first: { as: "one" } } });
  expect([renamed.tools.has("s__one"), isBlocked(renamed, "s__one")]).toEqual([true, undefined]);
  await renamed.close();
  server.define(named("first"), named("second", "Another one."));
  expect(isBlocked(await start({ tools: { second: { as: "two" } } }), "s__two")).toBe("new");
});

it("trusts all tools of another program under the same server name", async () => {
  const server = closeAfterTest(new Changing(named("first")));
  const start = restarting(server);
  await (await start()).close();
  const other = closeAfterTest(new Changing(named("first"), named("other")));
  const runtime = await start(other.config());
  expect(isBlocked(runtime, "s__other")).toBeUndefined();
});

it.each([
  ["a Cyrillic letter", "r\u{435}ad"],
  ["a zero-width space", "re\u{200b}ad"],
  ["a bidi override", "\u{202e}daer"],
  ["full width", "\u{ff52}ead"],
])("never lists a name with %s unchanged, at any address", async (_, name) => {
  const server = closeAfterTest(new Changing(named("read"), named(name)));
  const { connect, agent } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
  for (const path of ["/mcp", "/mcp/s"]) {
    const client = await connect(path);
    const { tools } = await client.listTools();
    expect(tools.filter((tool) => !/^[ -~]+$/.test(tool.name))).toEqual([]);
    const posing = tools.find((tool) => /_[0-9a-f]{8}$/.test(tool.name))?.name ?? "";
    expect(await client.callTool({ name: posing })).toMatchObject({ isError: false });
    expect(server.ran.at(-1)).toBe(name);
  }
  expect((await agent.tools.list()).tools.filter(({ tool }) => !/^[ -~]+$/.test(tool))).toEqual([]);
});
