/** What needs a person: each kind is counted while it lasts, for those who may act on it. */
import { expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { defineTool } from "../../packages/postern/src/index.ts";
import { Changing, read } from "../fakes/changing.ts";
import { notTaken, recordingChannel } from "../fakes/channel-fixture.ts";
import { closeAfterTest, serveRuntime } from "../fakes/served-runtime.ts";

const schema = { type: "object" } as const;
const send = defineTool({
  ...{
    name: "send",
    description: "Sends.",
    risk: "critical",
    effects: "write",
    idempotent: false,
    inputSchema: schema,
  },
  execute: () => "sent",
});
const lose = defineTool({
  ...{ name: "lose", description: "Loses its answer.", risk: "safe", effects: "write", idempotent: false },
  ...{ inputSchema: schema, timeoutMs: 200 },
  execute: () => new Promise(() => undefined),
});

it("counts requests, unknown outcomes, servers that are down and changed tools, each until it is over", async () => {
  const server = closeAfterTest(new Changing(read));
  const { operator, agent } = await serveRuntime({
    tools: [send, lose],
    servers: { notes: server.config({ startTimeoutMs: 1_000 }) },
  });
  expect(await operator.needs.list()).toEqual({ for_you: 0, needs: [] });

  const { approval_id: id = "" } = await agent.calls.call({ tool: "send", arguments: {} });
  await agent.calls.call({ tool: "lose", arguments: {}, run_id: "run-lost" });
  const { for_you: forYou, needs } = await operator.needs.list();
  expect(forYou).toBe(2);
  expect(needs).toMatchObject([
    { kind: "approvals", count: 1, for_you: 1, by_risk: { critical: 1, high: 0 }, roles: ["approver"], items: [] },
    { kind: "unknown", count: 1, roles: ["operator"], items: [{ name: "lose", run_id: "run-lost" }] },
  ]);
  await operator.approvals.deny({ id });
  await operator.calls.settle({ id: needs[1]?.items[0]?.id ?? "", outcome: "failed", reason: "I looked" });
  expect(await operator.needs.list()).toEqual({ for_you: 0, needs: [] });

  server.define({ ...read, description: "Reads another file." });
  expect(await operator.servers.reconnect({ name: "notes" })).toMatchObject({ status: "connected", restarts: 1 });
  expect((await operator.needs.list()).needs).toMatchObject([
    { kind: "tools", items: [{ id: "notes__read", text: "changed" }] },
  ]);
  const { offered } = await operator.tools.changes({ name: "notes__read" });
  await operator.tools.approve({ name: "notes__read", definition: offered?.definition ?? "" });

  server.hold(true);
  server.die();
  await expect
    .poll(async () => (await operator.needs.list()).needs)
    .toMatchObject([{ kind: "servers", items: [{ id: "notes" }] }]);
  server.hold(false);
  await expect.poll(async () => (await operator.needs.list()).needs).toEqual([]);
});

it("counts a channel that gave up until what it gave up is tried again", async () => {
  const clock = new FakeClock();
  const channel = recordingChannel({ name: "desk", deliver: async () => notTaken });
  const { operator, agent, runtime } = await serveRuntime({
    clock,
    tools: [send],
    channels: { also: [channel], consoleUrl: "https://postern.example" },
  });
  await agent.calls.call({ tool: "send", arguments: {} });
  await clock.advance(86_400_000);
  const found = (await operator.needs.list()).needs.find(({ kind }) => kind === "channels");
  expect(found).toMatchObject({
    count: 1,
    for_you: 1,
    roles: ["operator"],
    items: [{ id: "desk", text: expect.any(String) }],
  });
  await runtime.channels?.retry("desk");
  expect((await operator.needs.list()).needs.some(({ kind }) => kind === "channels")).toBe(false);
});

it("connects a server again at once, with an entry in the log, and never while its calls run", async () => {
  const server = closeAfterTest(new Changing(read));
  const { operator, agent, runtime } = await serveRuntime({ servers: { notes: server.config({ risk: "safe" }) } });
  server.hold(true);
  const running = agent.calls.call({ tool: "notes__read", arguments: { path: "a" } });
  await expect
    .poll(() => server.given.length + Number(runtime.health().servers[0]?.status === "connected"))
    .toBeGreaterThan(0);
  await expect.poll(() => operator.servers.reconnect({ name: "notes" }).catch(({ code }) => code)).toBe("server_busy");
  server.hold(false);
  expect(await running).toMatchObject({ status: "ok" });
  const before = server.starts;
  await operator.servers.reconnect({ name: "notes", reason: "it was slow" });
  expect(server.starts).toBe(before + 1);
  await expect(operator.servers.reconnect({ name: "nowhere" })).rejects.toMatchObject({ code: "server_unknown" });
  const entries = await runtime.audit.query({ type: "operator.action.server_reconnected" });
  expect(entries.at(-1)).toMatchObject({ data: { server: "notes", status: "connected", reason: "it was slow" } });
});
