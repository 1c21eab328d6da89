/**
 * `npm run bench -- servers [registration] [flooding] [memory] [--heap MB] [--json]`: 200 servers with 10,000 tools, a server that floods beside 50 busy ones, and memory
 * with one server, with 1,000 idle sessions, and with 10,000 requests that wait. `npm run build` first: memory is that of the built package.
 * `--heap`: the most that V8 may use, as in a small container.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createRuntime, type Runtime, type ServerConfig } from "../packages/postern/src/index.ts";
import { createMcpGateway, type McpGateway } from "../packages/postern/src/mcp/server/mcp-server.ts";
import type { McpCaller } from "../packages/postern/src/mcp/server/request-source.ts";
import { handled } from "../test/fakes/mcp-exchange.ts";
import { median, percentile, timed } from "./harness.ts";

const { values, positionals } = parseArgs({
  options: { json: { type: "boolean" }, heap: { type: "string" } },
  allowPositionals: true,
});
const folder = mkdtempSync(join(tmpdir(), "postern-servers-"));
const processes: ChildProcess[] = [];
const toolsOfServer = 50;
const requests = 10_000;
const root = join(import.meta.dirname, "..");

/** @returns servers of one process, by name */
async function manyServers(count: number): Promise<Readonly<Record<string, ServerConfig>>> {
  const words = [join(import.meta.dirname, "peers/many-servers.mjs"), String(toolsOfServer)];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  processes.push(child);
  const [line] = (await once(child.stdout, "data")) as [Buffer]; // it prints its port
  const base = `http://127.0.0.1:${String(line).trim()}`;
  const entries = Array.from(
    { length: count },
    (_, i) => [`s${i}`, { url: `${base}/s${i}/mcp`, risk: "safe" }] as const,
  );
  return Object.fromEntries(entries);
}

/**
 * Milliseconds until all tools are registered, of CPU time of the longest turn of the event loop meanwhile, and to list all
 * tools for a client.
 */
async function registration(): Promise<Readonly<Record<string, number>>> {
  const servers = await manyServers(200);
  await (await createRuntime({ servers: { one: servers["s0"] ?? {} } })).close(0); // loads what connecting needs
  let longestMs = 0;
  let before = process.threadCpuUsage();
  const beat = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    before = process.threadCpuUsage();
  }, 1);
  const begun = performance.now();
  const runtime = await createRuntime({ servers });
  await registered(runtime, 200 * toolsOfServer);
  const registeredMs = performance.now() - begun;
  clearInterval(beat);
  const gateway = createMcpGateway({ runtime });
  const times: number[] = [];
  for (let round = 0; round < 6; round += 1) times.push(await timed(() => listed(gateway, 200 * toolsOfServer)));
  await gateway.close();
  await runtime.close(0);
  return { registeredMs, longestTurnCpuMs: longestMs, firstListMs: times[0] ?? 0, listMs: median(times.slice(1)) };
}

/** Lists every page, as a client of 2025-11-25 over HTTP does. */
async function listed(gateway: McpGateway, count: number): Promise<void> {
  const by: McpCaller = { principal: { tenant: "default", agent: "bench" }, scopes: [] };
  const ask = async (method: string, params: object, session?: string): Promise<Response> => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const own = session === undefined ? headers : { ...headers, "mcp-session-id": session };
    return handled(gateway, new Request("http://127.0.0.1/mcp", { method: "POST", headers: own, body }), by);
  };
  const clientInfo = { name: "bench", version: "1" };
  const opened = await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  const session = opened.headers.get("mcp-session-id") ?? "";
  let tools = 0;
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const answered = await ask("tools/list", cursor === "" ? {} : { cursor }, session);
    const { result } = (await answered.json()) as { result: { tools: unknown[]; nextCursor?: string } }; // of the protocol
    tools += result.tools.length;
    cursor = result.nextCursor;
  }
  if (tools < count) throw new Error(`Only ${tools} tools are listed.`);
}

async function registered(runtime: Runtime, count: number): Promise<void> {
  while (runtime.health().tools < count) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** p99 of calls to 50 servers, alone and beside a server that floods, in milliseconds. */
async function flooding(): Promise<Readonly<Record<string, number>>> {
  const busy = await manyServers(50);
  const flood: ServerConfig = {
    command: process.execPath,
    args: [join(root, "test/fakes/raw-server.ts")],
    risk: "safe",
  };
  const runtime = await createRuntime({ servers: { ...busy, flood } });
  await registered(runtime, 50 * toolsOfServer);
  const calls = async (rounds: number): Promise<readonly number[]> => {
    const times: number[] = [];
    const one = async (server: string): Promise<void> => {
      for (let i = 0; i < rounds; i += 1)
        times.push(
          await timed(async () => {
            const { status } = await runtime.invoke({
              tool: `${server}__tool_${i % toolsOfServer}`,
              arguments: { text: `${round}-${i}` },
            });
            if (status !== "ok") throw new Error(`A call ended as ${status}.`);
          }),
        );
    };
    round += 1;
    await Promise.all(Object.keys(busy).map(one));
    return times;
  };
  let round = 0;
  await calls(60);
  const ratios: number[] = [];
  let last = { aloneMs: 0, besideFloodMs: 0 };
  for (let pair = 0; pair < 5; pair += 1) {
    const aloneMs = percentile(await calls(40), 0.99);
    const line = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"row number $N"}}';
    const call = runtime.invoke({ tool: "flood__flood", arguments: { line, count: 200_000, pair } });
    const besideFloodMs = percentile(await calls(40), 0.99);
    await call;
    ratios.push(besideFloodMs / aloneMs);
    last = { aloneMs, besideFloodMs };
  }
  await runtime.close(0);
  return { ...last, ratio: percentile(ratios, 0.5) };
}

/** Megabytes of the built command: with one server and no client, what 1,000 sessions add, and all with 10,000 requests that wait. */
async function memory(): Promise<Readonly<Record<string, number>>> {
  const bin = join(root, "packages/postern/dist/cli/main.js"); // not bin/postern.js, which runs the sources of a checkout
  if (!existsSync(bin)) throw new Error("Run `npm run build` first.");
  const config = join(folder, "postern.yaml");
  const server = {
    command: process.execPath,
    args: [join(import.meta.dirname, "peers/echo-server.mjs")],
    risk: "high",
  };
  const approvals = { max_open_per_agent: requests };
  writeFileSync(config, JSON.stringify({ version: 1, servers: { echo: server }, approvals, listen: { port: 0 } })); // JSON is YAML
  const data = join(folder, "data");
  const heap = values.heap === undefined ? [] : [`--max-old-space-size=${values.heap}`];
  const { NODE_OPTIONS: _sources, ...env } = process.env;
  const child = spawn(process.execPath, [...heap, bin, "start", "--config", config, "--data", data], {
    stdio: ["ignore", "pipe", "inherit"],
    env,
    cwd: folder,
  });
  processes.push(child);
  for (let text = ""; !text.includes("Try next"); text += String((await once(child.stdout, "data"))[0]));
  const { port } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
  const headers = { authorization: `Bearer ${readFileSync(join(data, "agent.token"), "utf8").trim()}` };
  await new Promise((resolve) => setTimeout(resolve, 3_000)); // what starting needed is given back
  const idleMb = megabytes(child);
  const clients: Client[] = [];
  for (let i = 0; i < 1_000; i += 1) {
    const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: "legacy" } });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit: { headers } }),
    );
    clients.push(client);
  }
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const sessionsMb = megabytes(child) - idleMb;
  const hold = async (text: number): Promise<void> => {
    const body = JSON.stringify({ tool: "echo__echo", arguments: { text: `a request, number ${text}` } });
    const posted = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body };
    const answered = await fetch(`http://127.0.0.1:${port}/v1/calls`, posted);
    const { status } = (await answered.json()) as { status?: string }; // of the contract
    if (status !== "pending") throw new Error(`A request ended as ${status ?? answered.status}.`);
  };
  for (let held = 0; held < requests; held += 50)
    await Promise.all(Array.from({ length: 50 }, (_, one) => hold(held + one)));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const sessionsAndRequestsMb = megabytes(child);
  await Promise.all(clients.map((client) => client.close()));
  return { idleMb, sessionsMb, sessionsAndRequestsMb };
}

function megabytes({ pid }: ChildProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

try {
  const parts = { registration, flooding, memory };
  const figures: Record<string, number> = {};
  for (const [name, part] of Object.entries(parts))
    if (positionals.length === 0 || positionals.includes(name)) Object.assign(figures, await part());
  const rounded = Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(2))]));
  if (values.json === true) console.log(JSON.stringify(rounded, undefined, 2));
  else console.table(rounded);
} finally {
  for (const child of processes) child.kill("SIGTERM");
  await Promise.all(processes.map((child) => child.exitCode ?? once(child, "exit")));
  rmSync(folder, { recursive: true, force: true });
}
