/** Servers that are started when a call needs them, and stopped when none did for a time. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import {
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  type ServerConfig,
} from "../../packages/postern/src/index.ts";
import { actor } from "../fakes/actors.ts";
import { Changing, type ListedTool, read } from "../fakes/changing.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker } from "../fakes/runtime-fixture.ts";
import { closeAfterTest, serveRuntime } from "../fakes/served-runtime.ts";

interface Scene {
  readonly server: Changing;
  readonly clock: FakeClock;
  readonly config: ServerConfig;
  readonly store: string;
  /** Starts Postern on its earlier store. */
  start(more?: Partial<ServerConfig>, options?: RuntimeOptions): Promise<Runtime>;
}

function scene(...tools: readonly ListedTool[]): Scene {
  const folder = ownFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = closeAfterTest(new Changing(...(tools.length === 0 ? [read] : tools)));
  const clock = new FakeClock();
  const config = server.config({ risk: "safe", start: "on_demand", idleStopMs: 5_000 });
  const store = `sqlite:${join(folder, "postern.db")}`;
  const start: Scene["start"] = async (more, options) => {
    const servers = { s: { ...config, ...more } };
    const runtime = await createRuntime({
      store,
      clock,
      autonomy: "A2",
      approvals: { patience: "suspend" },
      servers,
      ...options,
    });
    onTestFinished(() => runtime.close(0));
    return runtime;
  };
  return { server, clock, config, store, start };
}

const statusOf = (runtime: Runtime): string | undefined => runtime.health().servers[0]?.status;
const call = { tool: "s__read", arguments: { path: "a" } };

function isRunning(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    return false;
  }
}

it("stops a server that no call needed, and starts it once for the calls that need it", async () => {
  const { server, clock, start } = scene();
  const runtime = await start();
  const { processId = 0 } = runtime.health().servers[0] ?? {};
  expect([statusOf(runtime), server.starts]).toEqual(["connected", 1]);
  const changes: string[] = [];
  runtime.tools.follow(({ name }) => changes.push(name));
  await clock.advance(5_000);
  expect(statusOf(runtime)).toBe("idle");
  await expect.poll(() => isRunning(processId)).toBe(false);
  const outcomes = await Promise.all(["b", "c"].map((path) => runtime.invoke({ ...call, arguments: { path } }, asker)));
  expect(outcomes).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  expect([statusOf(runtime), server.starts]).toEqual(["connected", 2]);
  expect(await runtime.audit.query({ type: "mcp.stopped" })).toHaveLength(1);
  expect(changes).toEqual([]);
});

it("lists the tools of an earlier run with their schemas, and starts nothing for it", async () => {
  const { server, store, config, start } = scene();
  await (await start()).close();
  const { runtime, connect } = await serveRuntime({ store, servers: { s: config } });
  const { tools } = await (await connect()).listTools();
  expect(tools).toMatchObject([
    { name: "s__announce" },
    { name: "s__read", description: "Reads a file.", inputSchema: read.inputSchema },
  ]);
  expect(runtime.health().servers).toMatchObject([{ status: "idle", refused: [] }]);
  expect(server.starts).toBe(1);
  expect(await runtime.invoke(call, asker)).toMatchObject({ status: "ok" });
  expect(server.starts).toBe(2);
});

it("starts a server for its resources too, and knows from an earlier run that it has some", async () => {
  const { store, clock } = scene();
  const command = {
    command: process.execPath,
    args: ["test/fakes/relayed-server.ts"],
    revision: "2026-07-28",
  } as const;
  const servers = { s: { ...command, risk: "safe", start: "on_demand" } } as const;
  const first = await serveRuntime({ store, servers, clock });
  await first.runtime.close();
  const { runtime, connect } = await serveRuntime({ store, servers, clock });
  const client = await connect();
  expect((await client.readResource({ uri: "s+note://1" })).contents).toMatchObject([{ text: "first" }]);
  await clock.advance(300_000);
  expect(statusOf(runtime)).toBe("idle");
  expect((await client.listPrompts()).prompts).toMatchObject([{ name: "s__greet" }]);
  expect(statusOf(runtime)).toBe("connected");
});

it("runs nothing if a tool changed or went while its server was stopped", async () => {
  const { server, clock, start } = scene(read, { ...read, name: "gone" });
  await (await start()).close();
  server.define({ ...read, description: "Reads, and sends it away." });
  const runtime = await start();
  expect(await runtime.invoke({ ...call, tool: "s__gone" }, asker)).toMatchObject({
    refusal: { code: "tool_unknown" },
  });
  await clock.advance(5_000);
  server.define({ ...read, description: "Reads, and sends it away." });
  const { refusal } = await runtime.invoke(call, asker);
  expect(refusal).toMatchObject({ code: "tool_unavailable", message: expect.stringContaining("(description)") });
  expect(server.ran).toEqual([]);
  await runtime.close();
  const later = await start();
  expect(later.tools.names()).toEqual(["s__announce", "s__read"]);
  expect(server.starts).toBe(2);
  const definition = later.pins.changes("s__read")?.offered?.digest ?? "";
  await later.pins.approve("s__read", { ...actor("ann"), definition });
  expect(await later.invoke(call, asker)).toMatchObject({ status: "ok" });
});

it("does not stop a server while a call runs", async () => {
  const { server, clock, start } = scene();
  const runtime = await start();
  server.hold(true);
  const held = runtime.invoke(call, asker);
  await expect.poll(() => runtime.audit.query({ type: "tool_call.attempted" })).toHaveLength(1);
  await clock.advance(6_000);
  expect(statusOf(runtime)).toBe("connected");
  server.hold(false);
  expect(await held).toMatchObject({ status: "ok" });
  await clock.advance(4_999);
  expect(statusOf(runtime)).toBe("connected");
  await clock.advance(1);
  expect([statusOf(runtime), server.starts]).toEqual(["idle", 1]);
});

it("starts it for an approved call, and not for one that waits for a person", async () => {
  const { server, clock, start } = scene();
  const runtime = await start({ tools: { read: { risk: "high" } } });
  await clock.advance(5_000);
  const { approvalId = "" } = await runtime.invoke(call, asker);
  expect([statusOf(runtime), server.starts]).toEqual(["idle", 1]);
  await runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "ann", via: "token:operator" } });
  expect(await runtime.resume(approvalId)).toMatchObject({ status: "ok" });
  expect([server.ran, server.starts]).toEqual([["read"], 2]);
});

it("refuses a call if the server cannot be started, and tries again for a later one", async () => {
  const { server, clock, start } = scene();
  const runtime = await start({ startTimeoutMs: 3_000 });
  await clock.advance(5_000);
  server.hold(true);
  const early = runtime.invoke(call, asker);
  await expect.poll(() => server.starts).toBe(2);
  const leaving = new AbortController();
  const other = { ...call, arguments: { path: "b" } };
  const left = expect(runtime.invoke(other, { ...asker, signal: leaving.signal })).rejects.toThrow("changed its mind");
  await clock.advance(100);
  leaving.abort(new Error("changed its mind"));
  await left;
  expect(statusOf(runtime)).toBe("connecting");
  await clock.advance(3_000);
  const { refusal } = await early;
  expect(refusal).toMatchObject({ code: "tool_unavailable", message: expect.stringContaining("3000 ms") });
  await clock.advance(1_000);
  expect(statusOf(runtime)).toBe("idle");
  await clock.advance(60_000);
  expect(server.starts).toBe(2);
  server.hold(false);
  expect(await runtime.invoke(call, asker)).toMatchObject({ status: "ok" });
  expect(server.ran).toEqual(["read"]);
});

it("runs a call that needed a person before and does not now", async () => {
  const { server, start } = scene();
  const first = await start({ risk: "high" });
  const keyed = { ...asker, idempotencyKey: "k" };
  expect(await first.invoke(call, keyed)).toMatchObject({ status: "pending" });
  await first.close();
  const runtime = await start({ risk: "high" }, { autonomy: "A4" });
  expect(statusOf(runtime)).toBe("idle");
  expect(await runtime.invoke(call, keyed)).toMatchObject({ status: "ok" });
  expect(server.ran).toEqual(["read"]);
});

it("ends a call that waits for a start when Postern is closed", async () => {
  const { server, clock, start } = scene();
  const runtime = await start();
  await clock.advance(5_000);
  server.hold(true);
  const early = runtime.invoke(call, asker);
  await expect.poll(() => server.starts).toBe(2);
  const closed = runtime.close(0);
  await clock.advance(0);
  expect((await early).refusal).toMatchObject({ code: "tool_unavailable", message: expect.stringContaining("closed") });
  await closed;
});

it("starts it before a preview is made, so that a slow start voids no approval", async () => {
  const { server, clock, start } = scene(read, { ...read, name: "plan" });
  const tools = { read: { risk: "high", preview: "plan" }, plan: { risk: "safe", effects: "read" } } as const;
  const runtime = await start({ tools });
  const startSlowly = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await clock.advance(5_000);
    const before = server.starts;
    server.hold(true);
    const done = work();
    await expect.poll(() => server.starts).toBe(before + 1);
    await clock.advance(12_000);
    server.hold(false);
    return await done;
  };
  const { approvalId = "" } = await startSlowly(() => runtime.invoke(call, asker));
  expect((await runtime.approvals.get(approvalId))?.preview).toMatchObject({ summary: "ran plan", supported: true });
  await runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "ann", via: "token:operator" } });
  expect(await startSlowly(() => runtime.resume(approvalId))).toMatchObject({ status: "ok" });
  expect(server.ran).toEqual(["plan", "plan", "read"]);
});
