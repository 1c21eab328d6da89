import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSigner } from "../../../packages/postern/src/audit/signer.ts";
import { loadWorkerKey } from "../../../packages/postern/src/workers/worker-key.ts";
import { freePort, hasNats, NatsServer } from "../../fakes/nats-server.ts";
import { PostgresProcess } from "../../fakes/postgres-process.ts";
import { TcpProxy } from "../../fakes/tcp-proxy.ts";
import { Program } from "./program.ts";

const tools = join(import.meta.dirname, "tools.ts");
/** Of a call on a worker; that of the store is the product's own. */
const workerLeaseMs = 3_000;
/** How long a gateway holds its calls without its database: `leaseMs` of the store. */
export const storeLeaseMs = 15_000;

const tokens = {
  agent: randomBytes(32).toString("base64url"),
  operator: randomBytes(32).toString("base64url"),
} as const;

export interface Gateway {
  readonly program: Program;
  readonly url: string;
  readonly toPostgres: TcpProxy;
  readonly toNats: TcpProxy;
}

export interface WorkerPlace {
  readonly program: Program;
  readonly toNats: TcpProxy;
}

export interface Answer {
  readonly status: number;
  readonly body: { readonly [name: string]: unknown };
}

/** Gateways, workers, PostgreSQL and NATS as processes of their own, with a proxy on each way that can be cut. */
export class Cluster implements AsyncDisposable {
  readonly folder: string;
  readonly ledger: string;
  readonly postgres: PostgresProcess;
  readonly nats: NatsServer;
  readonly gateways: readonly Gateway[];
  readonly workers: readonly WorkerPlace[];

  static async started(
    count: { readonly gateways: number; readonly workers: number },
    ended: (how: string) => void,
  ): Promise<Cluster> {
    if (!hasNats) throw new Error("`nats-server` is missing; install Debian's package `nats-server`.");
    const folder = mkdtempSync(join(tmpdir(), "postern-cluster-"));
    const postgres = await PostgresProcess.started(folder);
    const nats = await NatsServer.started();
    const gatewayKeys = await madeFolders(folder, "gateway", count.gateways);
    const workerKeys = await madeFolders(folder, "worker", count.workers);
    await loadSigner(join(folder, "gateway-1/.postern"));
    const env = {
      CRASH_LEDGER: join(folder, "ledger"),
      POSTERN_OPERATOR_TOKEN: tokens.operator,
      POSTERN_LOCAL_AGENT_TOKEN: tokens.agent,
    };
    const program = (name: string, words: readonly string[]): Program =>
      new Program({ name, folder: join(folder, name), words: [...words, "--json"], env, ended });
    const gateways: Gateway[] = [];
    for (const name of gatewayKeys.keys()) {
      const toPostgres = await TcpProxy.open(postgres.port);
      const toNats = await TcpProxy.open(nats.port);
      const port = await freePort();
      if (name !== "gateway-1")
        for (const file of ["audit.key", "audit.pub"])
          cpSync(join(folder, "gateway-1/.postern", file), join(folder, name, ".postern", file));
      const store = `store: "${postgres.urlAt(toPostgres.port)}?schema=postern"\nlisten: { port: ${port} }\n`;
      const group = `  lease_ms: ${workerLeaseMs}\n  groups:\n    far: { tools: ["*_there"], workers: [${[...workerKeys.keys()]}] }\n`;
      configure(folder, name, `${common}${store}${workersSection(toNats, workerKeys)}${group}`);
      gateways.push({ program: program(name, ["start"]), url: `http://127.0.0.1:${port}`, toPostgres, toNats });
    }
    const workers: WorkerPlace[] = [];
    for (const name of workerKeys.keys()) {
      const toNats = await TcpProxy.open(nats.port);
      configure(folder, name, workersSection(toNats, gatewayKeys));
      workers.push({ program: program(name, ["worker", "--group", "far", "--tools", tools]), toNats });
    }
    const cluster = new Cluster({ folder, postgres, nats, gateways, workers });
    await Promise.all([...gateways, ...workers].map(({ program }) => program.start()));
    return cluster;
  }

  private constructor(parts: Pick<Cluster, "folder" | "postgres" | "nats" | "gateways" | "workers">) {
    this.folder = parts.folder;
    this.ledger = join(parts.folder, "ledger");
    this.postgres = parts.postgres;
    this.nats = parts.nats;
    this.gateways = parts.gateways;
    this.workers = parts.workers;
    writeFileSync(this.ledger, "");
  }

  /** The lines of the ledger: what really happened. */
  effects(): readonly { readonly bill: string; readonly tool: string; readonly pid: string }[] {
    const lines = readFileSync(this.ledger, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => {
      const [bill = "", tool = "", pid = ""] = line.split(" ");
      return { bill, tool, pid };
    });
  }

  async ask(
    { url }: Gateway,
    path: string,
    {
      as = "operator",
      body,
      patienceMs = 10_000,
    }: { readonly as?: "agent" | "operator"; readonly body?: object; readonly patienceMs?: number } = {},
  ): Promise<Answer> {
    const headers = { authorization: `Bearer ${tokens[as]}`, "content-type": "application/json" };
    const sent = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { ...sent, signal: AbortSignal.timeout(patienceMs) });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text) as Answer["body"] };
  }

  /** The log as text, for an outsider. */
  async export({ url }: Gateway): Promise<string> {
    const response = await fetch(`${url}/v1/audit/export`, { headers: { authorization: `Bearer ${tokens.operator}` } });
    return response.text();
  }

  /** Stops the gateways and workers as an operator does. */
  async stopPrograms(): Promise<void> {
    await Promise.all([...this.workers, ...this.gateways].map(({ program }) => program.kill("SIGTERM")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.workers, ...this.gateways].map(({ program }) => program.kill()));
    for (const { toNats } of [...this.gateways, ...this.workers]) await toNats[Symbol.asyncDispose]();
    for (const { toPostgres } of this.gateways) await toPostgres[Symbol.asyncDispose]();
    await this.nats[Symbol.asyncDispose]();
    await this.postgres.stop();
  }

  /** Removes all that it wrote. After a failure it stays, to be looked at. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const common = `tools: { modules: [${JSON.stringify(tools)}] }
autonomy: A3
approvals: { patience: suspend, ttl_seconds: 86400, max_open_per_agent: 100000 }
limits: { max_tool_calls: 100000000, call_timeout_ms: 20000, approval_wait_ms: 8000 }
`;

function configure(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name, "postern.yaml"), text, { mode: 0o600 });
}

function workersSection(toNats: TcpProxy, keys: ReadonlyMap<string, string>): string {
  const pairs = [...keys].map(([name, key]) => `${name}: ${key}`);
  return `workers:\n  nats: { url: "nats://127.0.0.1:${toNats.port}" }\n  keys: { ${pairs.join(", ")} }\n`;
}

/** The public keys for workers, by the names of the folders. */
async function madeFolders(folder: string, kind: string, count: number): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  for (let i = 1; i <= count; i += 1) {
    const data = join(folder, `${kind}-${i}`, ".postern");
    mkdirSync(data, { mode: 0o700, recursive: true });
    keys.set(`${kind}-${i}`, (await loadWorkerKey(data)).publicKey);
  }
  return keys;
}
