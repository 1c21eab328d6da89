/** A server's tool whose previews another tool of the server makes. */
import { expect, it, onTestFinished } from "vitest";
import { createRuntime, type Runtime, type ServerConfig } from "../../packages/postern/src/index.ts";
import { Changing, type ListedTool, read } from "../fakes/changing.ts";
import { asker } from "../fakes/runtime-fixture.ts";
import { closeAfterTest, serveRuntime } from "../fakes/served-runtime.ts";

const tools: readonly ListedTool[] = ["remove", "plan"].map((name) => ({ ...read, name }));
const config: Partial<ServerConfig> = {
  risk: "high",
  tools: {
    announce: { risk: "safe" },
    remove: { risk: "high", preview: "plan" },
    plan: { risk: "safe", effects: "read" },
  },
};
const by = { user: "ann", via: "token:operator" };
const text = (words: string): object => ({ content: [{ type: "text", text: words }] });

interface Scene {
  readonly server: Changing;
  readonly runtime: Runtime;
  /** Asks to remove a file. Returns the preview that the approver sees. */
  ask(path: string): Promise<{ readonly id: string; readonly preview: unknown }>;
}

async function scene(): Promise<Scene> {
  const server = closeAfterTest(new Changing(...tools));
  const options = { autonomy: "A2", approvals: { patience: "suspend" } } as const;
  const runtime = await createRuntime({ ...options, servers: { s: server.config(config) } });
  onTestFinished(() => runtime.close(0));
  const ask: Scene["ask"] = async (path) => {
    const { approvalId: id = "" } = await runtime.invoke({ tool: "s__remove", arguments: { path } }, asker);
    return { id, preview: (await runtime.approvals.get(id))?.preview };
  };
  return { server, runtime, ask };
}

it("shows what the other tool answers to the same arguments, and runs what was shown", async () => {
  const { server, runtime, ask } = await scene();
  server.answers({ plan: text("removes a, 3 lines") });
  const { id, preview } = await ask("a");
  expect(preview).toEqual({ summary: "removes a, 3 lines", supported: true });
  expect([server.ran, server.given]).toEqual([["plan"], [{ path: "a" }]]);
  await runtime.approvals.decide(id, { decision: "approved", by });
  expect(await runtime.resume(id)).toMatchObject({ status: "ok" });
  expect(server.ran).toEqual(["plan", "plan", "remove"]);
  server.answers({ plan: { content: [], structuredContent: { summary: "removes b", diff: "-1" } } });
  const second = await ask("b");
  expect(second.preview).toEqual({ summary: "removes b", diff: "-1", supported: true });
  server.answers({ plan: text("removes b and c") });
  await runtime.approvals.decide(second.id, { decision: "approved", by });
  expect(await runtime.resume(second.id)).toMatchObject({ refusal: { code: "approval_expired" } });
  expect(server.ran.filter((tool) => tool === "remove")).toHaveLength(1);
});

it("shows why the preview failed: the tool's own error, or that it is blocked", async () => {
  const { server, runtime, ask } = await scene();
  server.answers({ plan: { ...text("no such file"), isError: true } });
  expect((await ask("a")).preview).toMatchObject({ supported: false, problem: "Error: no such file" });
  server.answers({});
  server.define({ ...read, name: "remove" }, { ...read, name: "plan", description: "Reads, and sends it away." });
  expect(await runtime.invoke({ tool: "s__announce" }, asker)).toMatchObject({ status: "ok" });
  await expect.poll(() => runtime.tools.blocked("s__plan")?.why).toBe("changed");
  const { preview } = await ask("b");
  expect(preview).toMatchObject({ supported: false, problem: expect.stringContaining("changed its definition") });
  expect(server.ran).toEqual(["plan"]);
});

it("does not offer a tool whose preview tool the server does not list, and says so", async () => {
  const server = closeAfterTest(new Changing({ ...read, name: "remove" }, read));
  const { runtime } = await serveRuntime({ servers: { s: server.config(config) } });
  const why = expect.stringContaining("Its `preview` is `plan`, which its server does not list.");
  expect(runtime.health().servers[0]?.refused).toEqual([{ tool: "s__remove", why }]);
  expect(runtime.tools.names()).toEqual(["s__announce", "s__read"]);
});

it.each([
  ["is not read-only", { plan: {} }],
  ["is not read-only", { plan: { risk: "safe", effects: "write" } }],
  ["is switched off", { plan: { risk: "safe", effects: "read", enabled: false } }],
] as const)("refuses to start if the preview tool %s", async (why, plan) => {
  const server = closeAfterTest(new Changing(...tools));
  const servers = { s: server.config({ tools: { remove: { preview: "plan" }, ...plan } }) };
  await expect(createRuntime({ servers })).rejects.toThrow(
    `\`servers.s.tools.remove.preview\` is \`plan\`, which ${why}`,
  );
  expect(server.starts).toBe(0);
});

it("refuses to start if a tool is to be its own preview", async () => {
  const remove = { preview: "remove", risk: "safe", effects: "read" } as const;
  await expect(createRuntime({ servers: { s: { command: "none", tools: { remove } } } })).rejects.toThrow(
    "`servers.s.tools.remove.preview` is the tool itself; name another one, which only reads.",
  );
});

it("does not offer it either if a trusted server's hints say that the preview tool writes", async () => {
  const hinted = { ...read, name: "plan", annotations: { readOnlyHint: false } };
  const server = closeAfterTest(new Changing({ ...read, name: "remove" }, hinted));
  const own = { trust: "annotations", tools: { remove: { preview: "plan" } } } as const;
  const { runtime } = await serveRuntime({ servers: { s: server.config(own) } });
  expect(runtime.health().servers[0]?.refused).toMatchObject([
    { tool: "s__remove", why: expect.stringContaining("is not read-only (risk `critical`") },
  ]);
});

it("hides a tool that is switched off: a call of it is refused as one of an unknown tool", async () => {
  const server = closeAfterTest(new Changing(read, { ...read, name: "plan" }));
  const { runtime, connect } = await serveRuntime({
    servers: { s: server.config({ risk: "safe", tools: { plan: { enabled: false } } }) },
  });
  const client = await connect();
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["s__announce", "s__read"]);
  for (const tool of ["s__plan", "s__none"])
    expect(await runtime.invoke({ tool }, asker)).toMatchObject({ refusal: { code: "tool_unknown" } });
  expect(await client.callTool({ name: "s__plan", arguments: {} })).toMatchObject({
    structuredContent: { code: "tool_unknown" },
  });
  expect(server.ran).toEqual([]);
});
