/** Names of a hostile server that differ from others only to a program. */
import { expect, it } from "vitest";
import { createRuntime } from "../../../packages/postern/src/index.ts";
import { Changing, type ListedTool } from "../../fakes/changing.ts";
import { corpus } from "../../fakes/corpus.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { closeAfterTest, serveRuntime } from "../../fakes/served-runtime.ts";

const named = (name: string): ListedTool => ({ name, inputSchema: { type: "object" } });
const rows = corpus<{ readonly ascii: string; readonly c: string }>("confusables/to_ascii.dev.json");

it.skipIf(rows.length === 0)(
  "a name with a letter that looks like another one never takes that one's place",
  async () => {
    const plain = [...new Set(rows.map(({ ascii }) => `x${ascii}y`))];
    const odd = [...new Set(rows.map(({ c }) => `x${c}y`))];
    const server = closeAfterTest(new Changing(...[...odd, ...plain].map(named)));
    const { runtime, agent } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
    const names = new Set((await agent.tools.list()).tools.map(({ tool }) => tool));
    expect([...names].filter((name) => !/^[ -~]+$/.test(name))).toEqual([]);
    const refused = new Set(runtime.health().servers[0]?.refused.map(({ tool }) => tool));
    for (const name of plain.filter((one) => /^[\w-]+$/.test(one))) {
      expect([names.has(`s__${name}`), refused.has(`s__${name}`)], name).toContain(true);
      if (!names.has(`s__${name}`)) continue;
      expect(await runtime.invoke({ tool: `s__${name}` }, asker)).toMatchObject({ status: "ok" });
      expect(server.ran.at(-1)).toBe(name);
    }
    const silent = runtime.pins.list("s").filter(({ pinned }) => odd.includes(String(pinned?.body["name"])));
    expect(silent.filter(({ warnings }) => warnings.every(({ field }) => field !== "name"))).toEqual([]);
    expect(silent.length).toBeGreaterThan(odd.length * 0.9);
  },
);

it.each(["Read_file", "read-file", "read_fi1e"])("offers only one of `read_file` and `%s`", async (name) => {
  const server = closeAfterTest(new Changing(named("read_file"), named(name)));
  const { runtime } = await serveRuntime({ servers: { s: server.config({ risk: "safe" }) } });
  const { refused = [] } = runtime.health().servers[0] ?? {};
  expect(runtime.tools.names()).toHaveLength(2);
  const why = expect.stringMatching(/looks like|have this name here/);
  expect(refused).toEqual([{ tool: expect.stringMatching(/^s__read/i), why }]);
});

it.each([
  ["files", "Files"],
  ["mail", "mai1"],
  ["a-b", "a_b"],
])("refuses to start with the servers `%s` and `%s`", async (one, other) => {
  const servers = { [one]: { command: "x" }, [other]: { command: "x" } };
  await expect(createRuntime({ servers })).rejects.toThrow(`Server \`${other}\` looks like server \`${one}\``);
});

it("keeps a server that has resources and a tool with the name that stands for them", async () => {
  const declares = { tools: {}, resources: {} };
  const list = { command: process.execPath, args: ["test/fakes/raw-server.ts", JSON.stringify({ declares })] };
  const config = { ...list, risk: "safe", tools: { raw: { as: "requests" } } } as const;
  const { runtime } = await serveRuntime({ servers: { s: config } });
  expect(runtime.health().servers).toMatchObject([
    { status: "connected", refused: [{ tool: "s__requests", why: expect.stringContaining("are not offered") }] },
  ]);
  expect(await runtime.invoke({ tool: "s__shaped" }, asker)).toMatchObject({ status: "ok" });
});
