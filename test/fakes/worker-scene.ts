import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Ended, ended } from "./postern-process.ts";

const root = join(import.meta.dirname, "../..");
const bin = join(root, "packages/postern/bin/postern.js");

interface Started {
  readonly child: ChildProcess;
  readonly end: Promise<Ended>;
  /** What it printed when it was ready. */
  readonly ready: { readonly [name: string]: unknown };
}

interface Outcome {
  readonly status: string;
  readonly code?: string;
  readonly retry?: string;
  readonly text: string;
  readonly structured?: unknown;
  readonly call_id: string;
}

/** Gateways and workers as real processes, each with its own folder and key. Effects are lines of one file outside of both. */
export class WorkerScene implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "postern-workers-"));
  /** Of the processes that it starts, beside its own. */
  environment: Readonly<Record<string, string>> = {};
  readonly #started: Started[] = [];
  /** The section `workers.nats` of the next configuration. */
  nats: string;
  /** Of the gateways in the next configuration; undefined: each has a file. */
  store: string | undefined;
  /** The gateway that is asked. */
  at: "gateway" | "second" = "gateway";
  readonly #gateways = new Map<string, Started>();

  constructor(nats: string) {
    this.nats = `{ url: "${nats}" }`;
    for (const name of ["gateway", "second", "worker", "other"]) {
      mkdirSync(join(this.folder, name, ".postern"), { mode: 0o700, recursive: true });
      writeFileSync(join(this.folder, name, "tools.ts"), toolsModule(this.file("effects"), this.folder));
      this.configure(name, "  keys: {}\n");
    }
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** The effects by their key, in order. */
  get effects(): readonly string[] {
    return existsSync(this.file("effects")) ? readFileSync(this.file("effects"), "utf8").trim().split("\n") : [];
  }

  /** @param workers the section `workers`, without `nats` */
  configure(name: string, workers: string): void {
    const policy = "policy:\n  rules:\n    - { effect: allow, tool: '*' }\n";
    const store = this.store === undefined || name === "worker" ? "" : `store: "${this.store}"\n`;
    const text = `${store}tools:\n  modules: [./tools.ts]\nlisten:\n  port: 0\n${policy}workers:\n  nats: ${this.nats}\n${workers}`;
    writeFileSync(join(this.folder, name, "postern.yaml"), text);
  }

  /** Exchanges the keys: two gateways with one group and its worker. */
  async pairBoth(): Promise<void> {
    const [one, two, worker] = await Promise.all([this.key("gateway"), this.key("second"), this.key("worker")]);
    const groups = "  groups:\n    linux: { tools: [there_*], workers: [w1] }\n";
    for (const name of ["gateway", "second"]) this.configure(name, `  keys: { w1: ${worker} }\n${groups}`);
    this.configure("worker", `  keys: { g1: ${one}, g2: ${two} }\n`);
  }

  /** Exchanges the keys: a gateway with one group and its worker. */
  async pair({ gateway = "", worker = "", tools = "[there_*]", second = false } = {}): Promise<void> {
    const [ofGateway, ofWorker] = await Promise.all([this.key("gateway"), this.key("worker")]);
    const keys = second ? `{ w1: ${ofWorker}, w2: ${await this.key("other")} }` : `{ w1: ${ofWorker} }`;
    const groups = `  groups:\n    linux: { tools: ${tools}, permissions: ["far:*"], workers: [w1${second ? ", w2" : ""}] }\n`;
    this.configure("gateway", `  keys: ${keys}\n  lease_ms: 3000\n${groups}${gateway}`);
    for (const name of ["worker", "other"]) this.configure(name, `  keys: { g1: ${ofGateway} }\n${worker}`);
  }

  /** Adds a limit of sessions. */
  limit(name: string, limit: string): void {
    appendFileSync(join(this.folder, name, "postern.yaml"), `limits:\n  ${limit}\n`);
  }

  async key(name: string): Promise<string> {
    const { out } = await this.run(name, "workers", "key");
    return out.trim();
  }

  run(name: string, ...words: readonly string[]): Promise<Ended> {
    const child = spawn(process.execPath, [bin, ...words], {
      cwd: join(this.folder, name),
      env: { ...own(), ...this.environment },
      stdio: "pipe",
    });
    child.stdin.end();
    return ended(child);
  }

  async startGateway(name: "gateway" | "second" = "gateway"): Promise<Started> {
    const gateway = await this.#start(name, "start", "--json");
    this.#gateways.set(name, gateway);
    return gateway;
  }

  startWorker(name = "worker", group = "linux"): Promise<Started> {
    return this.#start(name, "worker", "--group", group, "--tools", "./tools.ts", "--json");
  }

  async call(tool: string, given: object = {}, more: object = {}): Promise<Outcome> {
    const response = await this.send("/v1/calls", "agent", { tool, arguments: given, ...more });
    const answer = (await response.json()) as Outcome & { readonly refusal?: object; readonly error?: object };
    return { ...answer, ...answer.refusal, ...answer.error };
  }

  send(path: string, role: "agent" | "operator", body?: object): Promise<Response> {
    const token = readFileSync(join(this.folder, this.at, ".postern", `${role}.token`), "utf8").trim();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const url = `${String(this.#gateways.get(this.at)?.ready["url"])}${path}`;
    return fetch(url, body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) });
  }

  /** The tools of a group, once a worker can run them. */
  async canRun(tool: string): Promise<boolean> {
    const { tools } = (await (await this.send("/v1/tools", "operator")).json()) as {
      readonly tools: readonly { readonly tool: string; readonly unavailable?: string }[];
    };
    return tools.some((one) => one.tool === tool && one.unavailable === undefined);
  }

  /** Types of the audit log, oldest first. */
  async events(): Promise<readonly { readonly type: string; readonly data?: object }[]> {
    const answer = await (await this.send("/v1/audit?limit=500", "operator")).json();
    return (answer as { readonly events: readonly { readonly type: string; readonly data?: object }[] }).events;
  }

  /** Lets `there_hold` of this name end. */
  letGo(name: string): void {
    writeFileSync(this.file(`go-${name}`), "");
  }

  async kill({ child, end }: Started, signal: NodeJS.Signals = "SIGKILL"): Promise<Ended> {
    child.kill(signal);
    return end;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#started)
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await Promise.all(this.#started.map(({ end }) => end));
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #start(name: string, ...words: readonly string[]): Promise<Started> {
    const child = spawn(process.execPath, [bin, ...words], {
      cwd: join(this.folder, name),
      env: { ...own(), ...this.environment },
      stdio: "pipe",
    });
    const end = ended(child);
    let text = "";
    const ready = Promise.withResolvers<Started["ready"]>();
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("\n")) ready.resolve(JSON.parse(text.slice(0, text.indexOf("\n"))));
    });
    void end.then(({ err }) => ready.reject(new Error(err)));
    const started = { child, end, ready: await ready.promise };
    this.#started.push(started);
    return started;
  }
}

function own(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("POSTERN_"));
  return {
    ...Object.fromEntries(kept),
    POSTERN_SECRET_NATS_PASSWORD: "right-password",
    POSTERN_SECRET_FAR_KEY: `far-${randomBytes(8).toString("hex")}`,
  };
}

function toolsModule(effects: string, folder: string): string {
  return `import { appendFileSync, existsSync } from "node:fs";
import { defineTool, suspend } from ${JSON.stringify(join(root, "packages/postern/src/tools/define.ts"))};
const note = (line) => appendFileSync(${JSON.stringify(effects)}, line + "\\n");
const any = { type: "object" };
const write = { risk: "safe", effects: "write", idempotent: false, inputSchema: any };
const read = { risk: "safe", effects: "read", idempotent: true, inputSchema: any };
const answers = (n) => [
  "text", 5, [1, 2], { a: 1 }, {}, null, undefined, { content: [{ type: "text", text: "hi" }], structured: { b: 2 } },
  { content: [{ type: "text", text: "no" }], isError: true, retryable: true }, new Uint8Array([1, 2, 3]), { structured: [1] },
  (() => { const cycle = {}; cycle.cycle = cycle; return cycle; })(), { isError: false, structured: { content: [1] } }, "x".repeat(3_000_000),
][n];
export const there_send = defineTool({ name: "there_send", description: "Sends.", ...write,
  execute: ({ name }, { idempotencyKey }) => { note("send " + name + " " + idempotencyKey + " " + process.pid); return "sent " + name; } });
export const there_hold = defineTool({ name: "there_hold", description: "Holds.", ...write,
  execute: async ({ name }, { progress, signal }) => { note("hold " + name); progress("it holds", 0.5);
    while (!existsSync(${JSON.stringify(`${folder}/go-`)} + name)) { if (signal.aborted) { note("aborted " + name); throw new Error("stopped"); } await new Promise((done) => setTimeout(done, 10)); }
    note("held " + name); return "held " + name; } });
export const there_answer = defineTool({ name: "there_answer", description: "Answers.", ...read, execute: ({ n }) => answers(n) });
export const here_answer = defineTool({ name: "here_answer", description: "Answers.", ...read, execute: ({ n }) => answers(n) });
export const there_fail = defineTool({ name: "there_fail", description: "Fails.", ...write, execute: () => { throw new TypeError("no luck"); } });
export const there_child = defineTool({ name: "there_child", description: "Calls.", ...write, execute: (_, { call }) => call({ tool: "here_answer", arguments: { n: 0 } }) });
export const there_bytes = defineTool({ name: "there_bytes", description: "Counts.", ...read,
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] }, execute: ({ text }) => ({ length: text.length }) });
export const by_permission = defineTool({ name: "by_permission", description: "Far.", ...write, permissions: ["far:disk"], execute: () => "ran in " + process.pid });
export const there_secret = defineTool({ name: "there_secret", description: "Says it.", ...write, execute: async (_, { secrets }) => "it is " + (await secrets.get("far", "key")).reveal() });
export const waits = defineTool({ name: "waits", description: "Waits.", ...write, suspends: true, execute: () => suspend("image", "apr_1") });
`;
}
