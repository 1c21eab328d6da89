import { describe, expect, it } from "vitest";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const eras = ["2025-11-25", "2026-07-28"] as const;
type Era = (typeof eras)[number];

function open(server: Era, options: RuntimeOptions = {}): Promise<ServedRuntime> {
  const command = { command: process.execPath, args: ["test/fakes/relayed-server.ts"] };
  return serveRuntime({ servers: { one: { ...command, revision: server, risk: "safe" } }, ...options });
}

describe.each(eras.flatMap((client) => eras.map((server) => [client, server] as const)))(
  "a client of %s and a server of %s",
  (clientEra, serverEra) => {
    it("lists and reads its resources, and no link is a dead end", async () => {
      const served = await open(serverEra);
      const client = await served.connect("/mcp", clientEra);
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual([
        "one+note://1",
        "one+note://big",
        "one+https://example.com/page",
      ]);
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain("one+note://{id}");
      const { content } = await client.callTool({ name: "one__link", arguments: {} });
      expect(content).toMatchObject([
        { uri: "one+note://1" },
        { resource: { uri: "one+note://1" } },
        { uri: "https://example.com/" },
      ]);
      expect((await client.readResource({ uri: "one+note://1" })).contents).toMatchObject([
        { uri: "one+note://1", text: "first" },
      ]);
      const page = await client.readResource({ uri: "one+https://example.com/page" });
      expect(page.contents).toMatchObject([{ uri: "one+https://example.com/page", text: "page" }]);
      const { contents } = await client.readResource({ uri: "one+note://big" });
      expect(contents).toMatchObject([{ text: "x".repeat(300_000) }]);
    });

    it("gets its prompts and completions", async () => {
      const client = await (await open(serverEra)).connect("/mcp", clientEra);
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["one__greet"]);
      const { messages } = await client.getPrompt({ name: "one__greet", arguments: { name: "Ada" } });
      expect(messages).toMatchObject([{ content: { text: "Greet Ada." } }, { content: { uri: "one+note://1" } }]);
      const ref = { type: "ref/prompt", name: "one__greet" } as const;
      const { completion } = await client.complete({ ref, argument: { name: "name", value: "A" } });
      expect(completion.values).toEqual(["Ada", "greet"]);
    });
  },
);

it("at a server's own endpoint names and addresses are its own", async () => {
  const client = await (await open("2026-07-28")).connect("/mcp/one");
  expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([
    "note://1",
    "note://big",
    "https://example.com/page",
  ]);
  expect((await client.readResource({ uri: "note://1" })).contents).toMatchObject([{ uri: "note://1", text: "first" }]);
  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["greet"]);
});

it("reading is a call: it is recorded, and the tool that stands for it is not listed", async () => {
  const served = await open("2026-07-28");
  const client = await served.connect();
  await client.readResource({ uri: "one+note://1" });
  expect((await served.runtime.calls.list()).map(({ call: { tool, action } }) => [tool, action])).toEqual([
    ["one__requests", "read_resource"],
  ]);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["one__link"]);
  expect(served.runtime.offered().map(({ tool }) => tool)).toEqual(["one__link"]);
  expect(served.runtime.tools.size).toBe(1);
});

it("a rule of the policy counts for it: what is denied is neither listed nor read", async () => {
  const served = await open("2026-07-28", { policy: { rules: [{ effect: "deny", tool: "one__requests" }] } });
  const client = await served.connect();
  expect((await client.listResources()).resources).toEqual([]);
  await expect(client.readResource({ uri: "one+note://1" })).rejects.toMatchObject({ data: { status: "denied" } });
});

it("a person is asked where the risk asks for one, and the same request is answered after the approval", async () => {
  const command = { command: process.execPath, args: ["test/fakes/relayed-server.ts"] };
  const served = await serveRuntime({ servers: { one: command }, autonomy: "A2" });
  const client = await served.connect();
  const read = (): Promise<unknown> => client.readResource({ uri: "one+note://1" });
  await expect(read()).rejects.toMatchObject({ data: { status: "approval_pending" } });
  const { approvals } = await served.operator.approvals.list({});
  await served.operator.approvals.approve({ id: approvals[0]?.approval_id ?? "" });
  expect(await read()).toMatchObject({ contents: [{ text: "first" }] });
});

it.each(["one+note://none", "two+note://1", "note://1", "artifact:none"])(
  "an address that there is not is refused: %s",
  async (uri) => {
    const client = await (await open("2026-07-28")).connect();
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: expect.any(Number) });
  },
);

it("the error of a server reaches the client with its code and data", async () => {
  const client = await (await open("2025-11-25")).connect("/mcp", "2025-11-25");
  await expect(client.readResource({ uri: "one+note://none" })).rejects.toMatchObject({
    data: { uri: "note://none" },
  });
});
