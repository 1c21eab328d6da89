/**
 * `npm run bench -- http [--json] [--rounds N] [--calls N]`: a call over HTTP by another process, and what it leaves to be
 * collected in the server, beside servers that answer the same without a gate.
 */
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { cpus, loadavg } from "node:os";
import { constants, PerformanceObserver } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createRuntime } from "../packages/postern/src/index.ts";
import { bound } from "../packages/postern/src/server/http/port.ts";
import { tools } from "./chain-scenes.ts";
import { median } from "./harness.ts";
import type { ClientFigures } from "./http-client.ts";
import { type Served, served } from "./served.ts";

const { values } = parseArgs({
  options: { json: { type: "boolean" }, rounds: { type: "string" }, calls: { type: "string" } },
});
const rounds = Number(values.rounds ?? 5);
const calls = Number(values.calls ?? 10_000);
const client = fileURLToPath(new URL("http-client.ts", import.meta.url));

interface Row {
  readonly server: string;
  readonly open: () => Promise<Served>;
}

interface Round extends ClientFigures {
  /** One collection of young garbage, during which nobody is answered. */
  readonly youngMs: number;
  readonly heapMegabytes: number;
}

const answerOf = (text: string): object => ({
  status: "ok",
  call_id: "call_1",
  content: [{ type: "text", text }],
  text,
});

const rows: readonly Row[] = [
  {
    server: "a bare `node:http` server",
    open: async () => {
      const server = createServer((asked, answer) => {
        const chunks: Buffer[] = [];
        asked.on("data", (chunk: Buffer) => chunks.push(chunk));
        asked.on("end", () => {
          const body = JSON.stringify(answerOf(JSON.parse(Buffer.concat(chunks).toString()).arguments.text));
          answer.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
          answer.end(body);
        });
      });
      return listening(server);
    },
  },
  {
    server: "Hono alone",
    open: async () => {
      const app = new Hono();
      app.post("/v1/calls", async (context) => context.json(answerOf((await context.req.json()).arguments.text)));
      const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1", overrideGlobalObjects: false });
      return listening(server as ReturnType<typeof createServer>); // no other kind was asked for
    },
  },
  { server: "Postern: token, every gate, ledger, audit log", open: postern },
];

async function listening(server: ReturnType<typeof createServer>): Promise<Served> {
  if (!server.listening) await bound(server, "127.0.0.1", 0);
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("It listens nowhere.");
  const close = (): Promise<unknown> => new Promise((resolve) => void server.close(resolve).closeAllConnections());
  return { url: `http://127.0.0.1:${address.port}`, token: "none", close };
}

async function postern(): Promise<Served> {
  const runtime = await createRuntime({ tools, limits: { maxToolCalls: 1_000_000 } });
  const { close, ...serving } = await served(runtime);
  return { ...serving, close: () => close().then(() => runtime.close()) };
}

/** Of a collection; what an entry is of is not in its type. */
function kindOf(entry: object): unknown {
  return (entry as { readonly detail?: { readonly kind?: unknown } }).detail?.kind;
}

/** The server is in this process and the client in another, as it is where there is one. */
async function round({ open }: Row): Promise<Round> {
  const { url, token, close } = await open();
  const young: number[] = [];
  const collections = new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      if (kindOf(entry) === constants.NODE_PERFORMANCE_GC_MINOR) young.push(entry.duration);
  });
  collections.observe({ entryTypes: ["gc"] });
  let heap = 0;
  const looking = setInterval(() => {
    heap = Math.max(heap, process.memoryUsage().heapUsed);
  }, 50);
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [client, url, token, String(calls)]);
    const told = JSON.parse(stdout) as ClientFigures; // our own program's
    return { ...told, youngMs: young.length === 0 ? 0 : median(young), heapMegabytes: heap / 1e6 };
  } finally {
    clearInterval(looking);
    collections.disconnect();
    await close();
  }
}

const found = new Map<Row, Round[]>(rows.map((row) => [row, []]));
for (let n = 0; n < rounds; n++) for (const [row, own] of found) own.push(await round(row));
const figures = [...found].map(([{ server }, own]) => ({
  server,
  p50Microseconds: Math.round(median(own.map(({ p50Microseconds }) => p50Microseconds))),
  p99Microseconds: Math.round(median(own.map(({ p99Microseconds }) => p99Microseconds))),
  callsPerSecond: Math.round(median(own.map(({ callsPerSecond }) => callsPerSecond))),
  youngMs: Number(median(own.map(({ youngMs }) => youngMs)).toFixed(2)),
  heapMegabytes: Math.round(median(own.map(({ heapMegabytes }) => heapMegabytes))),
}));
const machine = { node: process.version, cores: cpus().length, model: cpus()[0]?.model, load: loadavg()[0] };
if (values.json === true) console.log(JSON.stringify({ machine, calls, rounds, figures }, null, 2));
else console.table(figures);
