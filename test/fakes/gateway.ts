import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, vi } from "vitest";
import { parse, stringify } from "yaml";
import type { PosternClient } from "../../packages/core/src/contract/client.ts";
import type { HealthView } from "../../packages/core/src/contract/tools.ts";
import { createClient } from "../../packages/postern/src/server/client/client.ts";
import { readToken } from "../../packages/postern/src/server/credentials.ts";
import { type Ended, ended } from "./postern-process.ts";

const root = join(import.meta.dirname, "../..");
const bin = join(root, "packages/postern/bin/postern.js");
const inspector = join(root, "node_modules/.bin/inspector");

export type McpRevision = "2025-11-25" | "2026-07-28";

export interface GatewayOptions {
  /** How long the connection stays open for a call that needs a person. */
  readonly holdMs?: number;
  readonly ttlSeconds?: number;
  /** Servers beside those of the sample, or more members of those. */
  readonly servers?: Readonly<Record<string, object>>;
}

/** The sample gateway as a real process with real servers in its own folder, where it can be killed and started again. */
export class Gateway implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "postern-story-"));
  readonly #diary = join(this.folder, "diary");
  readonly #clients: Client[] = [];
  #running: { readonly child: ChildProcess; readonly end: Promise<Ended>; readonly url: string } | undefined;

  constructor(options: GatewayOptions = {}) {
    mkdirSync(join(this.folder, "workspace"));
    writeFileSync(join(this.folder, "tools.ts"), toolsModule(this.#diary, this.folder));
    writeFileSync(join(this.folder, "postern.yaml"), sampleHere(options));
  }

  static async started(options: GatewayOptions = {}): Promise<Gateway> {
    const gateway = new Gateway(options);
    await gateway.start();
    return gateway;
  }

  get url(): string {
    if (this.#running === undefined) throw new Error("The gateway does not run.");
    return this.#running.url;
  }

  get pid(): number {
    if (this.#running?.child.pid === undefined) throw new Error("The gateway does not run.");
    return this.#running.child.pid;
  }

  /** The effects of `work` and `send` in order, recorded outside of Postern. */
  get diary(): readonly string[] {
    return existsSync(this.#diary) ? readFileSync(this.#diary, "utf8").trim().split("\n") : [];
  }

  /** Keeps `work` and `send` running until they are released. */
  letGo(job: string): void {
    writeFileSync(join(this.folder, `let-go-${job}`), "");
  }

  /** Returns a file in the file server's folder. */
  file(name: string): string {
    return join(this.folder, "workspace", name);
  }

  /** Starts it in its own process group, as a shell does. */
  async start(): Promise<void> {
    const child = this.#spawn(bin, ["start", "--json"], { detached: true });
    const end = ended(child);
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      end.then(({ err }) => Promise.reject(new Error(`It did not start: ${err}`))),
    ]);
    const { url }: { url: string } = JSON.parse(String(line));
    this.#running = { child, end, url };
    await this.#untilServersAreThere(url);
  }

  /** A server that starts slowly, such as a browser, connects after the start. */
  async #untilServersAreThere(url: string): Promise<void> {
    const headers = { authorization: `Bearer ${await this.#token("agent")}` };
    const check = async (): Promise<void> => {
      const { servers } = (await (await fetch(`${url}/v1/health`, { headers })).json()) as HealthView;
      expect(servers.filter(({ status }) => status !== "connected")).toEqual([]);
    };
    await vi.waitFor(check, { timeout: 60_000 });
  }

  /** Sends a signal; with `group`, also to all its children, as a terminal does on Ctrl-C. */
  signal(signal: NodeJS.Signals, to: "process" | "group" = "process"): Promise<Ended> {
    if (this.#running === undefined) throw new Error("The gateway does not run.");
    const { child, end } = this.#running;
    if (to === "group" && child.pid !== undefined) process.kill(-child.pid, signal);
    else child.kill(signal);
    return end;
  }

  async killAndStart(): Promise<void> {
    await this.signal("SIGKILL");
    await this.#leave();
    await this.start();
  }

  /** Runs one command to its end, as a person does in another terminal. */
  command(...words: readonly string[]): Promise<Ended> {
    return ended(this.#spawn(bin, words));
  }

  /** Runs the inspector's command line as an agent. */
  async inspect(...words: readonly string[]): Promise<Ended> {
    const header = `Authorization: Bearer ${await this.#token("agent")}`;
    const to = ["--cli", `${this.url}/mcp`, "--transport", "http", "--header", header];
    return ended(this.#spawn(inspector, [...to, "--format", "json", "--quiet", ...words]));
  }

  get endpoint(): URL {
    return new URL("/mcp", this.url);
  }

  /** What a client over HTTP sends with each request. */
  async asAgent(): Promise<{ readonly requestInit: { readonly headers: { authorization: string } } }> {
    return { requestInit: { headers: { authorization: `Bearer ${await this.#token("agent")}` } } };
  }

  /** The command of a client over pipes. */
  get stdio(): { readonly command: string; readonly args: string[]; readonly cwd: string } {
    return { command: process.execPath, args: [bin, "start", "--stdio"], cwd: this.folder };
  }

  async connect(era: McpRevision): Promise<Client> {
    return this.#connected(era, new StreamableHTTPClientTransport(this.endpoint, await this.asAgent()));
  }

  connectStdio(era: McpRevision): Promise<Client> {
    return this.#connected(era, new StdioClientTransport({ ...this.stdio, stderr: "ignore" }));
  }

  /** Where an agent's client connects. */
  async place(): Promise<{ readonly url: string; readonly token: string }> {
    return { url: this.url, token: await this.#token("agent") };
  }

  async operator(): Promise<PosternClient> {
    return createClient({ url: this.url, token: await this.#token("operator") });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave();
    if (this.#running?.child.exitCode === null) await this.signal("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #leave(): Promise<void> {
    for (const client of this.#clients.splice(0)) await client.close();
  }

  async #connected(era: McpRevision, transport: Transport): Promise<Client> {
    const mode = era === "2025-11-25" ? "legacy" : { pin: era };
    const client = new Client({ name: "story", version: "1" }, { versionNegotiation: { mode } });
    this.#clients.push(client);
    await client.connect(transport);
    const spoken = client.getNegotiatedProtocolVersion();
    if (spoken !== era) throw new Error(`They speak ${spoken}, not ${era}.`);
    return client;
  }

  async #token(role: "agent" | "operator"): Promise<string> {
    return (await readToken(join(this.folder, ".postern"), role)) ?? "";
  }

  #spawn(
    script: string,
    words: readonly string[],
    more: { readonly detached?: boolean } = {},
  ): ChildProcessByStdio<null, Readable, Readable> {
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("POSTERN_"));
    const env = { ...Object.fromEntries(own), HOME: this.folder };
    return spawn(process.execPath, [script, ...words], {
      cwd: this.folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      ...more,
    });
  }
}

/** Returns the approval id in the answer of a held call. */
export function approvalOf({ structuredContent }: CallToolResult): string {
  const { approval_id: id } = structuredContent as { readonly approval_id: string }; // an `approval_pending` answer
  return id;
}

/** Returns the sample configuration with test folders, a free port and short waits. */
function sampleHere({ holdMs = 200, ttlSeconds = 3600, servers = {} }: GatewayOptions): string {
  const sample = parse(readFileSync(join(root, "postern.yaml"), "utf8"));
  sample.listen.port = 0;
  sample.limits = { approval_wait_ms: holdMs };
  sample.approvals.ttl_seconds = ttlSeconds;
  sample.tools.modules = ["./tools.ts"];
  for (const server of Object.values<{ args: string[] }>(sample.servers))
    server.args = server.args.map((word) => (word.startsWith("node_modules/") ? join(root, word) : word));
  for (const [name, more] of Object.entries(servers)) sample.servers[name] = { ...sample.servers[name], ...more };
  return stringify(sample);
}

/** Two tools with visible effects that run as long as the test wants: `work` runs at once, `send` needs approval. */
function toolsModule(diary: string, folder: string): string {
  return `import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { defineTool } from ${JSON.stringify(join(root, "packages/postern/src/tools/define.ts"))};
const inputSchema = { type: "object", properties: { job: { type: "string" } }, required: ["job"], additionalProperties: false };
const execute = async ({ job }) => {
  appendFileSync(${JSON.stringify(diary)}, job + "\\n");
  while (!existsSync(join(${JSON.stringify(folder)}, "let-go-" + job))) await setTimeout(10);
  return "did " + job;
};
const slow = { description: "Works until it is let go.", effects: "write", idempotent: false, inputSchema, execute };
export const work = defineTool({ ...slow, name: "work", risk: "safe" });
export const send = defineTool({ ...slow, name: "send", risk: "high" });
`;
}
