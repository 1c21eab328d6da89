import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type Clock, SystemClock } from "@postern/core";
import { afterEach, expect, it } from "vitest";
import { somePins } from "../../../../../test/fakes/pins.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolContext } from "../../tools/tool.ts";
import type { ServerConfig } from "./server-config.ts";
import { connectServers, type Servers } from "./servers.ts";

/** Real servers, over real pipes and sockets: what they do when they are killed is what matters here. */
const everything = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const overPipes: ServerConfig = { command: process.execPath, args: [everything, "stdio"] };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Scene {
  readonly servers: Servers;
  readonly tools: Map<string, LocalTool>;
  readonly notes: string[];
  /** Resolves when this was noted of that server, from now on. */
  noted(type: string, server?: string): Promise<void>;
}

async function connect(configs: Record<string, ServerConfig>, clock?: Clock): Promise<Scene> {
  const tools = new Map<string, LocalTool>();
  const notes: string[] = [];
  const waiting = new Map<string, () => void>();
  const servers = await connectServers(configs, {
    registry: {
      register: (tool) => void tools.set(tool.name, tool),
      unregister: (name) => void tools.delete(name),
      block: () => {},
      setServer: () => {},
      setIdle: () => {},
      schemaProblem: () => undefined,
      unavailable: () => undefined,
    },
    pins: somePins(clock ?? new SystemClock()),
    openApi: () => Promise.reject(new Error("no document")),
    resolveSecret: async () => "s3cret-value",
    random: () => 0,
    ...(clock !== undefined && { clock }),
    note: (type, _summary, data) => {
      const line = `${String(data["server"])}: ${type}`;
      notes.push(line);
      waiting.get(line)?.();
    },
  });
  cleanups.push(() => servers.close());
  return {
    servers,
    tools,
    notes,
    noted: (type, server = "one") => new Promise((resolve) => void waiting.set(`${server}: ${type}`, resolve)),
  };
}

function run(
  tools: ReadonlyMap<string, LocalTool>,
  name: string,
  given: object,
  progress: (content: string) => void = () => {},
): Promise<unknown> {
  const context = {
    signal: new AbortController().signal,
    idempotencyKey: "key-1",
    progress,
  } as unknown as ToolContext; // the adapter uses no more of it
  return Promise.resolve(tools.get(name)?.execute?.(given, context, "default"));
}

function processIdOf(servers: Servers): number {
  const [status] = servers.status();
  if (status?.processId === undefined) throw new Error("no child process");
  return status.processId;
}

it("a real server's tools are called by their names here, and their blocks come back as ours", async () => {
  const { tools } = await connect({ one: overPipes });
  const first = async (name: string, given: object) =>
    ((await run(tools, `one__${name}`, given)) as { content: { type: string }[] }).content.map(({ type }) => type); // what the adapter answers
  expect(await run(tools, "one__get-sum", { a: 2, b: 3 })).toEqual({
    content: [{ type: "text", text: "The sum of 2 and 3 is 5." }],
    isError: false,
  });
  expect(await first("get-tiny-image", {})).toContain("image");
  expect(await first("get-resource-links", { count: 2 })).toEqual(["text", "link", "link"]);
  expect(await first("get-resource-reference", { resourceType: "Text", resourceId: 1 })).toEqual([
    "text",
    "resource",
    "text",
  ]);
  expect(await first("get-annotated-message", { messageType: "error", includeImage: true })).toEqual(["text", "image"]);
  expect(await run(tools, "one__get-structured-content", { location: "Chicago" })).toMatchObject({
    structured: { temperature: 36 },
  });
});

it("a server's progress arrives while the tool runs", async () => {
  const { tools } = await connect({ one: overPipes });
  const told: string[] = [];
  await run(tools, "one__trigger-long-running-operation", { duration: 0.2, steps: 2 }, (content) => told.push(content));
  expect(told).toContain("1 of 2");
});

it("the child sees what its configuration lists, secrets resolved, and nothing else of our environment", async () => {
  process.env["POSTERN_TEST_PRIVATE"] = "not for children";
  cleanups.push(() => delete process.env["POSTERN_TEST_PRIVATE"]);
  const { tools } = await connect({ one: { ...overPipes, env: { LISTED: "secret://one/token" } } });
  const answer = JSON.stringify(await run(tools, "one__get-env", {}));
  expect(answer).toContain("s3cret-value");
  expect(answer).not.toContain("not for children");
});

it("the child is killed in the middle of a call: the outcome is unknown, and the server comes back (case 158, case 249)", async () => {
  const scene = await connect({ one: overPipes });
  const started = Promise.withResolvers<void>();
  const call = run(scene.tools, "one__trigger-long-running-operation", { duration: 30, steps: 300 }, () =>
    started.resolve(),
  );
  const failure = expect(call).rejects.toMatchObject({ unknown: true });
  await started.promise;
  const back = scene.noted("mcp.connected");
  process.kill(processIdOf(scene.servers), "SIGKILL");
  await failure;
  expect(scene.servers.status()).toMatchObject([{ status: "disconnected" }]);
  await expect(run(scene.tools, "one__get-sum", { a: 1, b: 1 })).rejects.toMatchObject({
    retryable: true,
  });
  await back;
  expect(await run(scene.tools, "one__get-sum", { a: 1, b: 1 })).toMatchObject({ isError: false });
  expect(scene.notes).toEqual([
    "one: mcp.connected",
    "one: mcp.tools_synced",
    "one: mcp.disconnected",
    "one: mcp.connected",
  ]);
});

it("two servers with the same tools are both reachable, and one that cannot start stops neither (case 251)", async () => {
  const { servers, tools } = await connect({
    one: overPipes,
    two: overPipes,
    broken: {
      command: process.execPath,
      args: ["-e", "console.error('no licence'); process.exit(3)"],
    },
  });
  expect(await run(tools, "one__echo", { message: "a" })).toMatchObject({
    content: [{ text: "Echo: a" }],
  });
  expect(await run(tools, "two__echo", { message: "b" })).toMatchObject({
    content: [{ text: "Echo: b" }],
  });
  expect(servers.status().map(({ name, status }) => [name, status === "connected"])).toEqual([
    ["one", true],
    ["two", true],
    ["broken", false],
  ]);
  expect(servers.status()[2]?.problem).toContain("no licence");
});

it("a command that is not there is named, and where it is written", async () => {
  const { servers } = await connect({
    mistyped: { command: "nodee" },
    gone: { command: "./bin/nodee", cwd: process.cwd() },
    folder: { command: process.cwd() },
  });
  expect(servers.status().map(({ status, problem }) => [status, problem])).toEqual([
    ["disconnected", "`nodee` is not to be found on the path: correct `servers.mistyped.command`."],
    ["disconnected", "`./bin/nodee` is no program: correct `servers.gone.command`."],
    ["disconnected", `\`${process.cwd()}\` is no program: correct \`servers.folder.command\`.`],
  ]);
});

it("closing ends the child processes", async () => {
  const { servers } = await connect({ one: overPipes });
  const processId = processIdOf(servers);
  await servers.close();
  expect(() => process.kill(processId, 0)).toThrow("ESRCH");
});

it("a server that never answers delays neither the others nor the end", async () => {
  const clock = new FakeClock();
  const silent: ServerConfig = {
    command: process.execPath,
    args: ["-e", "setInterval(() => {}, 1e6)"],
  };
  const connecting = connect({ silent }, clock);
  await clock.advance(15_000);
  const { servers } = await connecting;
  expect(servers.status()).toMatchObject([{ name: "silent", status: "connecting" }]);
  await servers.close();
  expect(servers.status()).toMatchObject([{ status: "disconnected" }]);
});

it("a call that was cancelled before it was sent reaches no server, and one that ended after is unknown", async () => {
  const { tools } = await connect({ one: overPipes });
  const tool = tools.get("one__trigger-long-running-operation");
  const cancel = new AbortController();
  const context = {
    signal: cancel.signal,
    idempotencyKey: "k",
    progress: () => cancel.abort(new Error("enough")),
  } as unknown as ToolContext; // the adapter uses no more of it
  await expect(tool?.execute?.({ duration: 30, steps: 300 }, context, "default")).rejects.toMatchObject({
    unknown: true,
  });
  await expect(tool?.execute?.({ duration: 30, steps: 300 }, context, "default")).rejects.toMatchObject({
    retryable: true,
  });
});

it("a server behind a URL dies in the middle of a call: unknown, not a call that hangs (case 158)", async () => {
  const { child, url } = await startRemote();
  const { tools, servers } = await connect({ one: { url } });
  expect(await run(tools, "one__get-sum", { a: 2, b: 3 })).toMatchObject({ isError: false });
  const started = Promise.withResolvers<void>();
  const call = run(tools, "one__trigger-long-running-operation", { duration: 60, steps: 600 }, () => started.resolve());
  const failure = expect(call).rejects.toMatchObject({ unknown: true });
  await started.promise;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await Promise.all([failure, exited]);
  await expect(run(tools, "one__get-sum", { a: 2, b: 3 })).rejects.toMatchObject({
    retryable: true,
  });
  expect(servers.status()).toMatchObject([{ status: "disconnected" }]);
});

async function startRemote(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const child = spawn(process.execPath, [everything, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  cleanups.push(() => child.kill("SIGKILL"));
  await once(child.stderr, "data"); // it says that it listens
  for (;;) {
    const answered = await fetch(`http://127.0.0.1:${port}/mcp`).then(
      () => true,
      () => false,
    );
    if (answered) return { child, url: `http://127.0.0.1:${port}/mcp` };
  }
}
