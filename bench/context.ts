/**
 * `npm run bench -- context [--json]`: the tokens that a task puts into the context of a client's model, by how `/mcp` lists
 * the tools of real servers. The clients follow a script; no model takes part. What is counted once is sent again with
 * every request of the model.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client, StreamableHTTPClientTransport, type Tool } from "@modelcontextprotocol/client";
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import { createRuntime } from "../packages/postern/src/index.ts";
import { served } from "./served.ts";

interface Task {
  readonly name: string;
  /** What the model looks for, a search each. */
  readonly searches: readonly string[];
  readonly calls: readonly { readonly tool: string; readonly given: Readonly<Record<string, unknown>> }[];
}

interface Read {
  readonly tools: number;
  readonly results: number;
}

const { values } = parseArgs({ options: { json: { type: "boolean" } } });
const folder = mkdtempSync(join(tmpdir(), "postern-context-"));
const notes = join(folder, "notes.txt");
const ada = { name: "Ada", entityType: "person", observations: ["wrote the first program"] };

const tasks: readonly Task[] = [
  {
    name: "add two numbers",
    searches: ["sum of two numbers"],
    calls: [{ tool: "everything__get-sum", given: { a: 2, b: 3 } }],
  },
  {
    name: "write a file, list its folder, read it",
    searches: ["write file", "list directory", "read text file"],
    calls: [
      { tool: "filesystem__write_file", given: { path: notes, content: "one\ntwo\n" } },
      { tool: "filesystem__list_directory", given: { path: folder } },
      { tool: "filesystem__read_text_file", given: { path: notes } },
    ],
  },
  {
    name: "store a person, find the person, write a file",
    searches: ["create entities", "search nodes", "write file"],
    calls: [
      { tool: "memory__create_entities", given: { entities: [ada] } },
      { tool: "memory__search_nodes", given: { query: "program" } },
      { tool: "filesystem__write_file", given: { path: notes, content: "Ada" } },
    ],
  },
];

const encoder = new Tiktoken(o200k);

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + encoder.encode(text).length, 0);
}

/** What a client tells its model of a tool. */
function declared({ name, description, inputSchema }: Tool): string {
  return JSON.stringify({ name, description, input_schema: inputSchema });
}

/** A client that keeps what its model reads. */
class Reader {
  readonly #client: Client;
  readonly #tools = new Map<string, string>();
  readonly #results: string[] = [];

  constructor(client: Client) {
    this.#client = client;
  }

  async list(): Promise<void> {
    for (const tool of (await this.#client.listTools()).tools) this.#tools.set(tool.name, declared(tool));
  }

  async call(name: string, given: Readonly<Record<string, unknown>>): Promise<void> {
    const { content, isError } = await this.#client.callTool({ name, arguments: given });
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
    if (isError === true) throw new Error(`${name} failed: ${text}`);
    this.#results.push(text);
  }

  read(): Read {
    return { tools: tokensOf([...this.#tools.values()]), results: tokensOf(this.#results) };
  }
}

const ways: Readonly<Record<string, (task: Task, reader: Reader) => Promise<void>>> = {
  "all tools": async ({ calls }, reader) => {
    for (const { tool, given } of calls) await reader.call(tool, given);
  },
  deferred: async ({ searches, calls }, reader) => {
    for (const query of searches) await reader.call("tool_search", { query });
    await reader.list();
    for (const { tool, given } of calls) await reader.call(tool, given);
  },
  "?mode=search": async (task, reader) => {
    await found(task, reader);
    for (const { tool, given } of task.calls) await reader.call("call_tool", { name: tool, arguments: given });
  },
  "?mode=code": async (task, reader) => {
    await found(task, reader);
    const lines = task.calls.map(({ tool, given }) => `answer = await tools["${tool}"](${JSON.stringify(given)});`);
    await reader.call("tool_chain", { code: ["let answer;", ...lines, "return answer;"].join("\n") });
  },
};

async function found({ searches, calls }: Task, reader: Reader): Promise<void> {
  for (const query of searches) await reader.call("search_tools", { query, limit: 5 });
  await reader.call("describe_tool", { names: calls.map(({ tool }) => tool) });
}

function serversOf(defer: boolean) {
  const server = (name: string, ...args: string[]) => ({
    ...{ command: process.execPath, risk: "safe" as const, defer },
    args: [join(import.meta.dirname, `../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
  });
  return {
    everything: server("everything", "stdio"),
    filesystem: server("filesystem", folder),
    memory: { ...server("memory"), env: { MEMORY_FILE_PATH: join(folder, `memory-${defer}.jsonl`) } },
  };
}

async function measured(way: string, work: (task: Task, reader: Reader) => Promise<void>): Promise<readonly Read[]> {
  await using runtime = await createRuntime({
    ...{ servers: serversOf(way === "deferred"), autonomy: "A4", serverWaitMs: 60_000 },
    ...(way === "?mode=code" && { chains: { engines: ["quickjs"] } }),
  });
  const { url, token, close } = await served(runtime);
  const rows: Read[] = [];
  for (const task of tasks) {
    const client = new Client({ name: "bench", version: "1" }); // a session of its own: nothing is found yet
    const address = new URL(`/mcp${way.startsWith("?") ? way : ""}`, url);
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    const reader = new Reader(client);
    await reader.list();
    await work(task, reader);
    await client.close();
    rows.push(reader.read());
  }
  await close();
  return rows;
}

const figures: Record<string, readonly Read[]> = {};
for (const [way, work] of Object.entries(ways)) figures[way] = await measured(way, work);
rmSync(folder, { recursive: true });

if (values.json === true) process.stdout.write(`${JSON.stringify(figures)}\n`);
else {
  const head = ["task", ...Object.keys(figures)];
  const rows = tasks.map(({ name }, i) => [
    name,
    ...Object.values(figures).map((reads) => {
      const { tools = 0, results = 0 } = reads[i] ?? {};
      return `${tools + results} (${tools} + ${results})`;
    }),
  ]);
  const lines = [head, head.map((_, i) => (i === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |`);
  process.stdout.write(`Tokens (tools + results):\n\n${lines.join("\n")}\n`);
}
