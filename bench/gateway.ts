/**
 * `npm run bench -- gateway [--json] [--quick]`: a relayed call through Postern, with every gate and a durable log, beside
 * gateways that relay only. `npm run bench -- peers` installs them. CPU time is the gateway's own process, from the kernel.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { median } from "./harness.ts";

const { values } = parseArgs({ options: { json: { type: "boolean" }, quick: { type: "boolean" } } });
const quick = values.quick === true;
const calls = quick ? 400 : 600;
const rounds = 5;
const inFlight = 32;
/** Half of what is measured before that is the compiler. */
const warmUpCalls = 1_500;
/** The CPU time of a call as a multiple of mcp-proxy's. The bar is 0.8; a busy machine passes, and a lost factor does not. */
const limit = 1.3;

const here = import.meta.dirname;
const peers = join(here, "peers", "node_modules");
const echo = join(here, "peers", "echo-server.mjs");
const folder = mkdtempSync(join(tmpdir(), "postern-gateway-"));
const processes: ChildProcess[] = [];

interface Gateway {
  readonly name: string;
  readonly tool: string;
  readonly era?: "2025-11-25" | "2026-07-28";
  /** A file that is there when the gateway is installed. */
  readonly installed: string;
  open(port: number): Promise<{ readonly process: ChildProcess; readonly transport: () => Transport }>;
}

function started(words: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(process.execPath, words, { stdio: "ignore", env: { ...process.env, ...env }, cwd: folder });
  processes.push(child);
  return child;
}

const overHttp =
  (url: string, headers: Readonly<Record<string, string>> = {}): (() => Transport) =>
  () =>
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });

function postern(era: "2025-11-25" | "2026-07-28"): Gateway {
  return {
    ...{ name: `Postern, ${era}`, tool: "echo__echo", era, installed: here },
    open: async (port) => {
      const [data, file] = [join(folder, era), join(folder, `${era}.yaml`)];
      const server = { command: process.execPath, args: [echo], risk: "safe" };
      writeFileSync(file, JSON.stringify({ version: 1, servers: { echo: server } })); // JSON is YAML
      const bin = join(here, "../packages/postern/bin/postern.js");
      const child = started([bin, "start", "--config", file, "--data", data, "--port", String(port)]);
      await answers(`http://127.0.0.1:${port}/healthz`);
      const token = readFileSync(join(data, "agent.token"), "utf8").trim();
      return {
        process: child,
        transport: overHttp(`http://127.0.0.1:${port}/mcp`, { authorization: `Bearer ${token}` }),
      };
    },
  };
}

const gateways: readonly Gateway[] = [
  postern("2025-11-25"),
  postern("2026-07-28"),
  {
    ...{ name: "mcp-hub", tool: "echo__echo", installed: join(peers, "mcp-hub/dist/cli.js") },
    open: async (port) => {
      const file = join(folder, "hub.json");
      writeFileSync(file, JSON.stringify({ mcpServers: { echo: { command: process.execPath, args: [echo] } } }));
      const homes = { XDG_STATE_HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
      const words = [join(peers, "mcp-hub/dist/cli.js"), "--port", String(port), "--config", file];
      const child = started(words, homes);
      await answers(`http://127.0.0.1:${port}/api/health`);
      return { process: child, transport: () => new SSEClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)) };
    },
  },
  {
    ...{ name: "mcp-proxy", tool: "echo", installed: join(peers, "mcp-proxy/dist/bin/mcp-proxy.mjs") },
    open: async (port) => {
      const bin = join(peers, "mcp-proxy/dist/bin/mcp-proxy.mjs");
      const child = started([bin, "--port", String(port), "--server", "stream", "--", process.execPath, echo]);
      await answers(`http://127.0.0.1:${port}/ping`);
      return { process: child, transport: overHttp(`http://127.0.0.1:${port}/mcp`) };
    },
  },
  {
    ...{ name: "supergateway", tool: "echo", installed: join(peers, "supergateway/dist/index.js") },
    open: async (port) => {
      const command = ["--stdio", `${process.execPath} ${echo}`, "--outputTransport", "streamableHttp", "--stateful"];
      const bin = join(peers, "supergateway/dist/index.js");
      const child = started([bin, ...command, "--port", String(port), "--logLevel", "none"]);
      await answers(`http://127.0.0.1:${port}/mcp`);
      return { process: child, transport: overHttp(`http://127.0.0.1:${port}/mcp`) };
    },
  },
  {
    ...{
      name: "a bare relay by the MCP SDK",
      tool: "echo",
      installed: join(peers, "@modelcontextprotocol/sdk/package.json"),
    },
    open: async (port) => {
      const child = started([join(here, "peers/sdk-relay.mjs"), String(port), echo]);
      await answers(`http://127.0.0.1:${port}/`);
      return { process: child, transport: overHttp(`http://127.0.0.1:${port}/mcp`) };
    },
  },
];

/** Resolves when something answers there. */
async function answers(url: string): Promise<void> {
  const until = performance.now() + 60_000;
  for (;;) {
    try {
      const answer = await fetch(url);
      await answer.body?.cancel();
      if (answer.status < 500) return;
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const ticksPerSecond = 100;

/** CPU time of a process without its children. */
function cpuMs({ pid }: ChildProcess): number {
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user = 0, system = 0] = fields.split(" ").slice(11, 13).map(Number);
  return ((user + system) * 1_000) / ticksPerSecond;
}

function megabytes({ pid }: ChildProcess): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024);
}

interface Row {
  readonly name: string;
  readonly process: ChildProcess;
  readonly client: Client;
  readonly call: (i: number) => Promise<void>;
  readonly p50: number[];
  readonly cpuAlone: number[];
  readonly cpuTogether: number[];
}

async function opened({ name, tool, era, open }: Gateway): Promise<Row> {
  const { process: child, transport } = await open(await freePort());
  const client = await reached(name, () => connected(transport(), era), tool);
  const call = (i: number): Promise<void> => echoed(client, tool, i);
  await together(call, warmUpCalls);
  return { name, process: child, client, call, p50: [], cpuAlone: [], cpuTogether: [] };
}

async function connected(transport: Transport, era: Gateway["era"]): Promise<Client> {
  const mode = era === "2026-07-28" ? { pin: era } : "legacy";
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
}

/** Some gateways can be reached before their servers can. */
async function reached(name: string, connect: () => Promise<Client>, tool: string): Promise<Client> {
  for (let tries = 1; ; tries += 1) {
    let client: Client | undefined;
    try {
      client = await connect();
      await echoed(client, tool, 0);
      return client;
    } catch (error) {
      await client?.close();
      if (tries === 60) throw new Error(`${name} does not answer.`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

async function echoed(client: Client, tool: string, i: number): Promise<void> {
  const { content } = await client.callTool({ name: tool, arguments: { text: `t${i}` } });
  const [block] = content;
  if (block?.type !== "text" || block.text !== `t${i}`) throw new Error(`Not an echo: ${JSON.stringify(content)}`);
}

async function together(call: (i: number) => Promise<void>, count: number): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await call(next);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

async function measure({ process: child, call, p50, cpuAlone, cpuTogether }: Row): Promise<void> {
  const times: number[] = [];
  let before = cpuMs(child);
  for (let i = 0; i < calls; i += 1) {
    const begin = performance.now();
    await call(i);
    times.push(performance.now() - begin);
  }
  cpuAlone.push((cpuMs(child) - before) / calls);
  p50.push(median(times));
  before = cpuMs(child);
  await together(call, calls * 2);
  cpuTogether.push((cpuMs(child) - before) / (calls * 2));
}

const rows: Row[] = [];
try {
  for (const gateway of gateways) {
    if (existsSync(gateway.installed)) rows.push(await opened(gateway));
    else console.error(`${gateway.name} is not installed: npm run bench -- peers`);
  }
  for (let round = 0; round < rounds; round += 1) for (const row of rows) await measure(row);
  const figures = rows.map(({ name, process: child, p50, cpuAlone, cpuTogether }) => ({
    name,
    p50Ms: Number(median(p50).toFixed(2)),
    cpuMsAlone: Number(median(cpuAlone).toFixed(2)),
    cpuMsTogether: Number(median(cpuTogether).toFixed(2)),
    megabytes: megabytes(child),
  }));
  const proxy = figures.find(({ name }) => name === "mcp-proxy");
  const ratios = figures
    .filter(({ name }) => name.startsWith("Postern"))
    .map(({ name, cpuMsTogether }) => ({ name, ratio: proxy && cpuMsTogether / proxy.cpuMsTogether }));
  if (values.json === true)
    console.log(JSON.stringify({ calls, rounds, inFlight, figures, ratios, limit }, undefined, 2));
  else {
    console.table(figures);
    for (const { name, ratio } of ratios)
      if (ratio !== undefined) console.log(`${name}: ${ratio.toFixed(2)} × the CPU time of mcp-proxy (limit ${limit})`);
  }
  if (ratios.some(({ ratio = 0 }) => ratio > limit)) process.exitCode = 1;
} finally {
  await Promise.all(rows.map(({ client }) => client.close().catch(() => undefined))); // a gateway may have ended already
  for (const child of processes) child.kill("SIGTERM");
  await Promise.all(processes.map((child) => child.exitCode ?? once(child, "exit")));
  rmSync(folder, { recursive: true, force: true });
}
