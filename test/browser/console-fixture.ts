/** A real Postern, started by its own command in a folder of its own, and what a test needs around it. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
/** Every permission. */
export const everyRole = ["approver", "operator", "auditor", "admin"] as const;
/** Of every account. */
export const password = "correct horse battery";

/** A test that is stopped leaves no process. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export interface Ways {
  /** Lines at the end of the configuration. */
  readonly more?: string;
  /** Lines within `approvals`. */
  readonly approvals?: string;
  /** With an MCP server, `everything`. */
  readonly server?: boolean;
}

export class RuntimeFixture implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "postern-browser-"));
  readonly #ran = join(this.folder, "ran");
  #child: ChildProcess | undefined;
  url = "";
  port = 0;

  /** Not started yet. */
  constructor(ways: Ways = {}) {
    this.configure(ways);
    writeFileSync(join(this.folder, "tools.ts"), toolsModule(this.#ran, this.folder));
  }

  /** Before it starts. */
  configure(ways: Ways): void {
    writeFileSync(join(this.folder, "postern.yaml"), configuration(ways));
  }

  static async open(ways: Ways = {}): Promise<RuntimeFixture> {
    const postern = new RuntimeFixture(ways);
    await postern.start();
    return postern;
  }

  /** Again on the same port, as after a restart. */
  async start(): Promise<void> {
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("POSTERN_"));
    const port = this.port === 0 ? [] : ["--port", String(this.port)];
    const words = [join(root, "packages/postern/bin/postern.js"), "start", "--json", ...port];
    const child = spawn(process.execPath, words, {
      cwd: this.folder,
      env: Object.fromEntries(own),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    running.add(child);
    child.once("exit", () => running.delete(child));
    const { url, port: listening } = await said(child);
    this.url = url;
    this.port = listening;
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  /** Lets the long tools take their first, second, third step. */
  step(number: 1 | 2 | 3): void {
    writeFileSync(join(this.folder, `step-${number}`), "");
  }

  /** The next long call begins with the first step. */
  stepBack(): void {
    for (const number of [1, 2, 3]) rmSync(join(this.folder, `step-${number}`), { force: true });
  }

  /** What the tools with effects have done. */
  get runs(): readonly string[] {
    return existsSync(this.#ran) ? readFileSync(this.#ran, "utf8").trim().split("\n") : [];
  }

  token(role: "agent" | "operator"): string {
    return readFileSync(join(this.folder, ".postern", `${role}.token`), "utf8").trim();
  }

  async #send(role: "agent" | "operator", method: string, path: string, body?: object): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token(role)}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** A call as the agent makes it. */
  async call(tool: string, given: object, more: object = {}): Promise<Record<string, unknown>> {
    const answer = await this.#send("agent", "POST", "/v1/calls", { tool, arguments: given, ...more });
    return (await answer.json()) as Record<string, unknown>; // the server answers an object
  }

  /** A call that waits for approval. Returns the id of the request. */
  async ask(tool: string, given: object, more: object = {}): Promise<string> {
    const outcome = await this.call(tool, given, more);
    if (typeof outcome["approval_id"] !== "string") throw new Error(`Not held: ${JSON.stringify(outcome)}`);
    return outcome["approval_id"];
  }

  async operator(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const answer = await this.#send("operator", method, path, body);
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? {} : ((await answer.json()) as Record<string, unknown>);
  }

  approval(id: string): Promise<Record<string, unknown>> {
    return this.operator("GET", `/v1/approvals/${id}`);
  }

  async account(name: string, roles: readonly string[]): Promise<void> {
    await this.operator("POST", "/v1/accounts", { name, display_name: name, roles, password });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function said(child: ChildProcess): Promise<{ readonly url: string; readonly port: number }> {
  return new Promise((resolve, reject) => {
    let out = "";
    let err = "";
    child.stderr?.on("data", (piece: Buffer) => {
      err += piece.toString();
    });
    child.stdout?.on("data", (piece: Buffer) => {
      out += piece.toString();
      const line = out.split("\n").find((one) => one.startsWith("{"));
      if (line !== undefined && out.includes("\n")) resolve(JSON.parse(line));
    });
    child.once("exit", (code) => reject(new Error(`Postern ended with ${code}: ${err}`)));
  });
}

function configuration({ more = "", approvals = "", server = false }: Ways): string {
  const everything = join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
  const servers = `servers:
  everything:
    command: ${JSON.stringify(process.execPath)}
    args: [${JSON.stringify(everything)}, stdio]
    tools:
      echo: { risk: safe, effects: read, idempotent: true }
`;
  return `tools:
  modules: [./tools.ts]
${server ? servers : ""}listen:
  port: 0
policy:
  rules:
    - id: ask-send-email
      effect: confirm
      tool: send_email
      reason: what is sent cannot be taken back
${["edit_file", "update_rows", "post_text", "post_list", "transfer_money", "long_export"].map((tool) => `    - { id: ask-${tool.replaceAll("_", "-")}, effect: confirm, tool: ${tool} }\n`).join("")}approvals:
  ttl_seconds: 3600
  patience: suspend
${approvals}limits:
  max_tool_calls: 100000
autonomy: A4
chains:
  limits: { max_tool_calls: 3000 }
log:
  level: error
${more}`;
}

/** Tools with every kind of preview; a tool with an effect writes a line. */
function toolsModule(ran: string, folder: string): string {
  return `import { appendFileSync, existsSync } from "node:fs";
import { watch } from "node:fs/promises";
import { defineTool } from ${JSON.stringify(join(root, "packages/postern/src/tools/define.ts"))};
const stepped = async (number, signal) => {
  const isThere = () => existsSync(${JSON.stringify(join(folder, "step-"))} + number);
  if (isThere()) return;
  for await (const _ of watch(${JSON.stringify(folder)}, { signal })) if (isThere()) return;
};
const goOn = (what) => async (_, context) => {
  const { signal } = context;
  const first = stepped(1, signal);
  context.progress("reading the list");
  await first;
  const second = stepped(2, signal);
  context.progress("40 of 100 rows \\u202e", 0.4);
  await second;
  const third = stepped(3, signal);
  context.progress("100 of 100 rows", 1);
  await third;
  note(what);
  return "100 rows";
};
const note = (line) => appendFileSync(${JSON.stringify(ran)}, line + "\\n");
const strings = (names, required = names) => ({ type: "object", required, additionalProperties: false,
  properties: Object.fromEntries(names.map((name) => [name, { type: "string", description: "The " + name + "." }])) });
export const clock = defineTool({ name: "clock_now", description: "The time.", risk: "safe", effects: "read", idempotent: true,
  inputSchema: { type: "object" }, execute: () => "now" });
export const send = defineTool({ name: "send_email", description: "Sends a mail.", risk: "high", effects: "write", idempotent: false,
  inputSchema: strings(["to", "subject", "body"]),
  preview: ({ to, subject, body }) => ({ summary: "A mail to " + to, message: { to: [to], subject, body } }),
  execute: ({ to, subject }) => { note("mail " + to + " " + subject); return "sent to " + to; } });
export const edit = defineTool({ name: "edit_file", description: "Edits a file.", risk: "high", effects: "write", idempotent: true,
  inputSchema: strings(["path", "from", "to"]),
  preview: ({ path, from, to }) => ({ summary: "Changes one line of " + path,
    diff: "--- a/" + path + "\\n+++ b/" + path + "\\n@@ -12,3 +12,3 @@\\n   retries: 3\\n-" + from + "\\n+" + to + "\\n   region: eu-central" }),
  execute: ({ path }) => { note("edit " + path); return "edited " + path; } });
export const rows = defineTool({ name: "update_rows", description: "Changes rows of a table.", risk: "high", effects: "write", idempotent: false,
  inputSchema: { type: "object", required: ["table", "set", "limit"], additionalProperties: false, properties: {
    table: { type: "string", description: "Which table." }, set: { type: "object", description: "Columns and their new values." },
    limit: { type: "integer", description: "At most so many rows." }, dry: { type: "boolean", description: "Only count." } } },
  preview: ({ table }) => ({ summary: "3 rows of " + table + " change", table: { columns: ["id", "before", "after"],
    rows: [["1042", "open", "closed"], ["1043", "open", "closed"], ["1050", "waiting", "closed"]] } }),
  execute: ({ table }) => { note("rows " + table); return "3 rows"; } });
export const transfer = defineTool({ name: "transfer_money", description: "Moves money.", risk: "critical", effects: "write", idempotent: false,
  inputSchema: { type: "object", required: ["to", "amount"], additionalProperties: false, properties: { to: { type: "string" }, amount: { type: "number" } } },
  preview: ({ to, amount }) => ({ summary: "Moves " + amount + " EUR to " + to }),
  execute: ({ to, amount }) => { note("money " + to + " " + amount); return "moved"; } });
export const say = defineTool({ name: "post_text", description: "Posts a text.", risk: "high", effects: "write", idempotent: false,
  inputSchema: strings(["text"]), preview: ({ text }) => ({ summary: text, diff: "+" + text, details: { text } }),
  execute: ({ text }) => { note("post"); return text; } });
export const list = defineTool({ name: "post_list", description: "Posts texts.", risk: "high", effects: "write", idempotent: false,
  inputSchema: { type: "object", required: ["texts"], properties: { texts: { type: "array", items: { type: "string" } } } },
  preview: ({ texts }) => ({ summary: texts[0], table: { columns: ["text"], rows: texts.map((text) => [text]) } }),
  execute: ({ texts }) => texts.join("\\n") });
export const fail = defineTool({ name: "flaky_fetch", description: "Fails.", risk: "safe", effects: "read", idempotent: true,
  inputSchema: { type: "object" }, execute: () => { throw new Error("no luck"); } });
export const slow = defineTool({ name: "slow_import", description: "Goes on until it is stopped.", risk: "safe", effects: "write", idempotent: false,
  inputSchema: { type: "object" }, execute: (_, { signal }) => { note("slow"); return new Promise((end) => signal.addEventListener("abort", () => end("stopped"))); } });
export const imports = defineTool({ name: "long_import", description: "Imports rows and says how far it is.", risk: "safe", effects: "read", idempotent: true,
  inputSchema: { type: "object" }, execute: goOn("import") });
export const exports = defineTool({ name: "long_export", description: "Exports rows and says how far it is.", risk: "high", effects: "write", idempotent: false,
  inputSchema: { type: "object" }, execute: goOn("export") });
`;
}
