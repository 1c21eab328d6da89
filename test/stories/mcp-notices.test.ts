/** What a server tells by itself reaches the clients that may see it. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRuntime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { createMcpGateway } from "../../packages/postern/src/mcp/server/mcp-server.ts";
import { handled } from "../fakes/mcp-exchange.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { rawHttp } from "../fakes/raw-http.ts";
import { type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

const eras = ["2025-11-25", "2026-07-28"] as const;
type Era = (typeof eras)[number];
const logLevel = "io.modelcontextprotocol/logLevel";

interface Notice {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

interface Scene extends ServedRuntime {
  readonly folder: string;
  /** The methods of what the server heard, without what each connection begins with. */
  heard(): readonly Notice[];
}

async function open(server: Era, options: RuntimeOptions = {}, folder = ownFolder()): Promise<Scene> {
  const command = { command: process.execPath, args: ["test/fakes/noticing-server.ts", folder] };
  const served = await serveRuntime({ servers: { one: { ...command, revision: server, risk: "safe" } }, ...options });
  const heard = (): readonly Notice[] =>
    readFileSync(join(folder, "heard"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Notice);
  return { ...served, folder, heard };
}

/** What a client is told beside answers, without members of the protocol. */
function hearing(client: Client): Notice[] {
  const told: Notice[] = [];
  client.fallbackNotificationHandler = async ({ method, params }) => {
    const { _meta, ...own } = (params ?? {}) as Record<string, unknown>;
    told.push({ method, params: own });
  };
  return told;
}

async function follow(client: Client, era: Era, uri: string): Promise<() => Promise<unknown>> {
  if (era === "2025-11-25") {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  }
  const { honoredFilter, close } = await client.listen({ resourceSubscriptions: [uri] });
  expect(honoredFilter).toEqual({ resourceSubscriptions: [uri] });
  return close;
}

const updated = (uri: string): Notice => ({ method: "notifications/resources/updated", params: { uri } });
let calls = 0;
const call = (client: Client, name: string, given: object = {}, _meta: object = {}): Promise<unknown> => {
  calls += 1;
  return client.callTool({ name: `one__${name}`, arguments: { ...given, calls }, _meta: { ..._meta } });
};

describe.each(eras.flatMap((client) => eras.map((server) => [client, server] as const)))(
  "a client of %s and a server of %s",
  (clientEra, serverEra) => {
    it("shares one subscription with other clients, until the last one leaves", async () => {
      const scene = await open(serverEra);
      const [first, second] = [await scene.connect("/mcp", clientEra), await scene.connect("/mcp/one", clientEra)];
      const [firstTold, secondTold] = [hearing(first), hearing(second)];
      const leaveFirst = await follow(first, clientEra, "one+note://1");
      const leaveSecond = await follow(second, clientEra, "note://1");
      const ofServer = serverEra === "2025-11-25" ? "resources/subscribe" : "subscriptions/listen";
      const begun = (): number =>
        scene.heard().filter(({ method, params }) => method === ofServer && JSON.stringify(params).includes("note://1"))
          .length;
      expect(begun()).toBe(1);
      await call(first, "touch", { uri: "note://1" });
      await expect.poll(() => firstTold).toContainEqual(updated("one+note://1"));
      await expect.poll(() => secondTold).toContainEqual(updated("note://1"));
      await leaveFirst();
      await call(first, "touch", { uri: "note://1" });
      await expect.poll(() => secondTold).toEqual([updated("note://1"), updated("note://1")]);
      expect(firstTold).toEqual([updated("one+note://1")]);
      if (clientEra === "2026-07-28") await leaveSecond();
      else await (second.transport as StreamableHTTPClientTransport).terminateSession(); // its subscriptions end with it
      const ended = serverEra === "2025-11-25" ? "resources/unsubscribe" : "notifications/cancelled";
      await expect.poll(() => scene.heard().map(({ method }) => method)).toContain(ended);
      expect(begun()).toBe(1);
    });

    it("is told the log messages of its calls from the level on that it asked for", async () => {
      const scene = await open(serverEra);
      const client = await scene.connect("/mcp", clientEra);
      const told = hearing(client);
      const levels = (text: string): unknown[] =>
        told
          .filter(({ params }) => (params?.["data"] as { text?: string })?.text === text)
          .map(({ params }) => params?.["level"]);
      const log = async (text: string, from?: "debug" | "error"): Promise<void> => {
        if (clientEra === "2025-11-25" && from !== undefined) await client.setLoggingLevel(from);
        const asked = clientEra === "2026-07-28" && from !== undefined ? { [logLevel]: from } : {};
        await call(client, "log", { text }, asked);
      };
      await log("first");
      await log("second", "debug");
      await log("third", "error");
      expect(levels("first")).toEqual(clientEra === "2025-11-25" ? ["info", "error"] : []);
      expect(levels("second")).toEqual(["debug", "info", "error"]);
      expect(levels("third")).toEqual(["error"]);
      const asked = scene
        .heard()
        .flatMap(({ method, params }) => (method === "logging/setLevel" ? [params?.["level"]] : []));
      expect(asked).toEqual(serverEra === "2025-11-25" ? ["debug"] : []);
    });
  },
);

it.each(eras)("a client of %s is told that lists of a server changed", async (era) => {
  const scene = await open(era === "2025-11-25" ? "2026-07-28" : "2025-11-25");
  const client = await scene.connect("/mcp", era);
  const { resources, prompts, logging } = client.getServerCapabilities() ?? {};
  expect({ resources, prompts, logging }).toEqual({
    ...{ resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true }, logging: {} },
  });
  const told = hearing(client);
  if (era === "2026-07-28") await client.listen({ resourcesListChanged: true, promptsListChanged: true });
  await call(client, "lists");
  for (const list of ["resources", "prompts"])
    await expect.poll(() => told.map(({ method }) => method)).toContain(`notifications/${list}/list_changed`);
});

it.each(eras)("a server of %s that comes back is asked again for what clients follow", async (era) => {
  const scene = await open(era);
  const client = await scene.connect("/mcp", "2025-11-25");
  const told = hearing(client);
  await client.subscribeResource({ uri: "one+note://1" });
  process.kill(scene.runtime.health().servers[0]?.processId ?? 0, "SIGKILL");
  await expect.poll(() => told).toContainEqual(updated("one+note://1")); // it may have changed meanwhile
  const before = told.length;
  await call(client, "touch", { uri: "note://1" });
  await expect.poll(() => told.slice(before)).toContainEqual(updated("one+note://1"));
});

it("a client that cannot subscribe takes no subscription from another one", async () => {
  const folder = ownFolder();
  const source = `
    import { existsSync, writeFileSync } from "node:fs";
    import { createInterface } from "node:readline";
    const capabilities = { tools: {}, resources: { subscribe: true } };
    const facts = { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "x", version: "1" } };
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      if (method === "resources/subscribe" && existsSync("held")) return writeFileSync("asked", String(process.pid));
      const result = { initialize: facts, "tools/list": { tools: [] } }[method] ?? {};
      console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`;
  const args = ["--input-type=module", "-e", source];
  const one = { command: process.execPath, args, cwd: folder, revision: "2025-11-25", risk: "safe" } as const;
  const scene = await serveRuntime({ servers: { one } });
  const [first, second] = [await scene.connect("/mcp", "2025-11-25"), await scene.connect("/mcp", "2025-11-25")];
  const told = hearing(first);
  const kill = (): unknown => process.kill(scene.runtime.health().servers[0]?.processId ?? 0, "SIGKILL");
  await first.subscribeResource({ uri: "one+note://1" });
  writeFileSync(join(folder, "held"), "");
  kill();
  await expect.poll(() => existsSync(join(folder, "asked"))).toBe(true);
  const refused = expect(second.subscribeResource({ uri: "one+note://1" })).rejects.toThrow(/note:\/\/1/);
  await expect.poll(() => scene.runtime.audit.query({ type: "tool_call.attempted" })).toHaveLength(2);
  await expect.poll(() => told).toContainEqual(updated("one+note://1"));
  told.splice(0);
  rmSync(join(folder, "held"));
  kill();
  await refused;
  await expect.poll(() => told).toContainEqual(updated("one+note://1"));
});

it("a server that is started on demand comes back by itself while clients follow its resources", async () => {
  const folder = ownFolder();
  const args = ["test/fakes/noticing-server.ts", folder];
  const one = { command: process.execPath, args, risk: "safe", start: "on_demand" } as const;
  const scene = await serveRuntime({ servers: { one } });
  const client = await scene.connect("/mcp", "2025-11-25");
  const told = hearing(client);
  await client.subscribeResource({ uri: "one+note://1" });
  process.kill(scene.runtime.health().servers[0]?.processId ?? 0, "SIGKILL");
  await expect.poll(() => told).toContainEqual(updated("one+note://1")); // it may have changed meanwhile
});

it("a rule of the policy counts for a subscription", async () => {
  const rules = [{ effect: "deny", tool: "one__requests" }] as const;
  const scene = await open("2025-11-25", { policy: { rules } });
  const [old, modern] = [await scene.connect("/mcp", "2025-11-25"), await scene.connect()];
  await expect(old.subscribeResource({ uri: "one+note://1" })).rejects.toMatchObject({ data: { status: "denied" } });
  const listening = await modern.listen({ resourceSubscriptions: ["one+note://1"], toolsListChanged: true });
  expect(listening.honoredFilter).toEqual({ toolsListChanged: true });
  const told = hearing(old);
  await call(old, "lists");
  await call(old, "log", { text: "end" });
  expect(told.map(({ method }) => method)).not.toContain("notifications/resources/list_changed");
});

it("a person is asked once, and each client that subscribes after the approval is told", async () => {
  const policy = { rules: [{ effect: "confirm", tool: "one__requests", action: "subscribe" }] } as const;
  const scene = await open("2025-11-25", { policy });
  const clients = [await scene.connect("/mcp", "2025-11-25"), await scene.connect("/mcp", "2025-11-25")];
  const subscribe = (client: Client): Promise<unknown> => client.subscribeResource({ uri: "one+note://1" });
  const pending = { status: "rejected", reason: { data: { status: "approval_pending" } } };
  expect(await Promise.allSettled(clients.map(subscribe))).toMatchObject([pending, pending]);
  const { approvals } = await scene.operator.approvals.list({});
  expect(approvals).toHaveLength(1);
  await scene.operator.approvals.approve({ id: approvals[0]?.approval_id ?? "" });
  for (const client of clients) await subscribe(client);
  const told = clients.map(hearing);
  await call(clients[0] as Client, "touch", { uri: "note://1" });
  for (const one of told) await expect.poll(() => one).toEqual([updated("one+note://1")]);
});

it("one client follows at most 100 resources of a server, and is told why not more", async () => {
  const client = await (await open("2025-11-25")).connect("/mcp", "2025-11-25");
  for (let at = 0; at < 100; at += 1) await client.subscribeResource({ uri: `one+note://${at}` });
  await expect(client.subscribeResource({ uri: "one+note://100" })).rejects.toThrow(/follows 100 resources/);
  await client.unsubscribeResource({ uri: "one+note://7" });
  await client.subscribeResource({ uri: "one+note://100" });
});

it("updates over the connection of a person reach only that person", async () => {
  const streams = new Map<string, ServerResponse>();
  const { url } = await rawHttp(({ method, id, params, headers }, response) => {
    const say = (message: object): unknown =>
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    if (method === "subscriptions/listen") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const _meta = { "io.modelcontextprotocol/subscriptionId": id };
      const notifications = (params as { notifications?: object } | undefined)?.notifications;
      say({ method: "notifications/subscriptions/acknowledged", params: { notifications, _meta } });
      streams.set(String(headers["x-api-key"]), response);
      return true;
    }
    if (method !== "server/discover") return false;
    const capabilities = { tools: {}, resources: { subscribe: true } };
    const result = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    return true;
  });
  const headers = { "X-Api-Key": "secret://person/token" };
  const runtime = await createRuntime({
    ...{ autonomy: "A4", servers: { one: { url, headers, risk: "safe" } } },
    connections: { consoleUrl: () => "http://127.0.0.1:7420" },
  });
  const gateway = createMcpGateway({ runtime });
  onTestFinished(async () => {
    await gateway.close();
    await runtime.close(0);
  });
  const told = await Promise.all(
    ["ada", "bob"].map(async (user) => {
      await runtime.connections?.enter("one", { tenant: "default", user }, { token: `the key of ${user}` });
      const caller = { principal: { tenant: "default", agent: "helper", user }, scopes: [] };
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
      const send: typeof fetch = (to, init) => handled(gateway, new Request(to, init), caller);
      await client.connect(new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch: send }));
      onTestFinished(() => client.close());
      await expect.poll(() => client.subscribeResource({ uri: "one+note://1" }).catch(() => undefined)).toBeDefined();
      return hearing(client);
    }),
  );
  const change = { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "note://1" } };
  streams.get("the key of ada")?.write(`data: ${JSON.stringify(change)}\n\n`);
  await expect.poll(() => told[0]).toEqual([updated("one+note://1")]);
  const before = streams.get("the key of bob");
  before?.end(); // proxies end quiet streams
  await expect.poll(() => told[1]).toEqual([updated("one+note://1")]);
  expect(streams.get("the key of bob")).not.toBe(before);
  expect(told[0]).toHaveLength(1);
});

it("a subscription lasts when its server refuses once to open the stream again", async () => {
  const streams: ServerResponse[] = [];
  let asked = 0;
  const { url } = await rawHttp(({ method, id, params }, response) => {
    const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
    const answer = (message: object): unknown => response.end(JSON.stringify({ jsonrpc: "2.0", id, ...message }));
    if (method === "server/discover") {
      const capabilities = { tools: {}, resources: { subscribe: true } };
      response.writeHead(200, { "content-type": "application/json" });
      answer({ result: { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities } });
    } else if (method === "subscriptions/listen" && ++asked === 2) {
      response.writeHead(200, { "content-type": "application/json" });
      answer({ error: { code: -32_603, message: "It is busy." } });
    } else if (method === "subscriptions/listen") {
      const _meta = { "io.modelcontextprotocol/subscriptionId": id };
      const { notifications } = params as { notifications?: object };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event({ method: "notifications/subscriptions/acknowledged", params: { notifications, _meta } }));
      streams.push(response);
    } else return false;
    return true;
  });
  const client = await (await serveRuntime({ servers: { one: { url, risk: "safe" } } })).connect("/mcp", "2025-11-25");
  const told = hearing(client);
  await client.subscribeResource({ uri: "one+note://1" });
  streams[0]?.end();
  await expect.poll(() => told).toEqual([updated("one+note://1")]);
  expect(asked).toBe(3);
});

it("a log message that belongs to no call reaches the sessions that asked for its level", async () => {
  const scene = await open("2025-11-25");
  const [first, second] = [await scene.connect("/mcp", "2025-11-25"), await scene.connect("/mcp", "2025-11-25")];
  const [firstTold, secondTold] = [hearing(first), hearing(second)];
  await first.setLoggingLevel("info");
  await expect(first.setLoggingLevel("loud" as never)).rejects.toThrow(/"loud"; it must be one of debug, info/);
  await call(second, "later", { text: "much later" });
  const params = { level: "info", data: { text: "much later" } };
  await expect.poll(() => firstTold).toContainEqual({ method: "notifications/message", params });
  expect(secondTold).toEqual([]);
});

it.each(eras)("a notification that Postern does not know reaches the client of %s whose call runs", async (era) => {
  const scene = await open(era === "2025-11-25" ? "2026-07-28" : "2025-11-25");
  const [client, other] = [await scene.connect("/mcp", era), await scene.connect("/mcp", era)];
  const [told, otherTold] = [hearing(client), hearing(other)];
  await call(client, "steps");
  expect(told).toContainEqual({ method: "notifications/example/step", params: { step: 1 } });
  expect(otherTold).toEqual([]);
});

it("a flood of updates and log messages is bounded, and no changed resource is forgotten", async () => {
  const declares = { tools: {}, logging: {}, resources: { subscribe: true } };
  const args = ["test/fakes/raw-server.ts", JSON.stringify({ declares })];
  const scene = await serveRuntime({ servers: { one: { command: process.execPath, args, risk: "safe" } } });
  const client = await scene.connect("/mcp", "2025-11-25");
  const told = hearing(client);
  for (const at of [1, 2]) await client.subscribeResource({ uri: `one+note://${at}` });
  const notice = (method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", method, params });
  const flooded = (line: string, count = 5_000): Promise<unknown> => call(client, "flood", { line, count });
  await flooded(notice("notifications/resources/updated", { uri: "note://1" }));
  await expect.poll(() => told).toContainEqual(updated("one+note://2"));
  expect(told).toContainEqual(updated("one+note://1"));
  expect(told.length).toBeLessThan(100);
  told.splice(0);
  await flooded(notice("notifications/message", { level: "error", data: "$N" }));
  expect(told.length).toBeLessThan(1_000);
  told.splice(0);
  await flooded(notice("notifications/message", { level: "error", data: "x".repeat(70_000) }), 1);
  await flooded(notice("notifications/resources/updated", { uri: "note://1" }), 1);
  await expect.poll(() => told).toContainEqual(updated("one+note://1")); // it came after all messages
  expect(JSON.stringify(told)).not.toContain("xxx");
});
