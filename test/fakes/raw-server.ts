/**
 * A real MCP server of 2025-11-25 over pipes that answers with the very text it is asked for. Its first argument is JSON:
 * `onProbe` what it does with a message before `initialize` (`error`, `silent`, `exit`), `startAfterMs`, `declares` its
 * capabilities, `starts` a file to which each start appends, `child` a file for the id of a process that it leaves behind,
 * `list` a file with the text of its list of tools.
 *
 * `raw` writes `text`, or the bytes of `latin1`, and what `$ID` stands for, `shaped` answers with a text though it has an output schema, `flood`
 * writes `count` lines of `line` before it answers, `grow` adds a tool and tells of it.
 */
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface Options {
  readonly onProbe?: "error" | "silent" | "exit";
  readonly startAfterMs?: number;
  readonly declares?: object;
  readonly starts?: string;
  readonly child?: string;
  readonly list?: string;
  readonly pageSize?: number;
  readonly tools?: number;
}

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly cursor?: string;
    readonly arguments?: {
      readonly text?: string;
      readonly latin1?: string;
      readonly line?: string;
      readonly count?: number;
    };
    readonly _meta?: { readonly progressToken?: number };
  };
}

const options: Options = JSON.parse(process.argv[2] ?? "{}");
const { onProbe = "error", declares = { tools: { listChanged: true } }, startAfterMs = 0 } = options;
const inputSchema = { type: "object" };
const outputSchema = { type: "object", properties: { total: { type: "number" } } };
const tools: object[] = ["raw", "flood", "grow"].map((name) => ({ name, inputSchema }));
tools.push({ name: "shaped", inputSchema, outputSchema });
for (let i = 0; i < (options.tools ?? 0); i += 1) tools.push({ name: `more-${i}`, inputSchema });

if (options.starts !== undefined) appendFileSync(options.starts, `${process.pid}\n`);
if (options.child !== undefined) {
  // It ignores the end of its input and SIGTERM.
  const program = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ["-e", program], { stdio: "inherit" });
  writeFileSync(options.child, String(child.pid));
}

let isOpen = false;
setTimeout(() => createInterface({ input: process.stdin }).on("line", hear), startAfterMs);

function hear(line: string): void {
  const message: Message = JSON.parse(line);
  const { id, method, params } = message;
  if (id === undefined) return;
  if (method === "initialize") isOpen = true;
  if (!isOpen && onProbe === "exit") process.exit(3);
  if (!isOpen && onProbe === "silent") return;
  if (method === "initialize") {
    const serverInfo = { name: "raw", version: "1" };
    say({ id, result: { protocolVersion: "2025-11-25", capabilities: declares, serverInfo } });
  } else if (method === "tools/list" && options.list !== undefined) {
    const text = readFileSync(options.list, "utf8");
    process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${text}}}\n`);
  } else if (method === "tools/list") say({ id, result: page(params?.cursor) });
  else if (method === "tools/call") call(message);
  else if (method === "resources/subscribe") say({ id, result: {} });
  else say({ id, error: { code: -32_601, message: "Method not found" } });
}

function page(cursor = "0"): object {
  const from = Number(cursor);
  const next = from + (options.pageSize ?? tools.length);
  return { tools: tools.slice(from, next), ...(next < tools.length && { nextCursor: String(next) }) };
}

function call({ id, params }: Message): void {
  const { text = "", latin1, line = "", count = 0 } = params?.arguments ?? {};
  const answer = { id, result: { content: [{ type: "text", text: "done" }] } };
  if (params?.name === "raw" && latin1 !== undefined) process.stdout.write(`${filled(latin1, id)}\n`, "latin1");
  else if (params?.name === "raw") process.stdout.write(`${filled(text, id)}\n`);
  else if (params?.name === "flood") {
    const token = String(params._meta?.progressToken);
    const lines = Array.from({ length: count }, (_, i) => line.replaceAll("$TOKEN", token).replaceAll("$N", String(i)));
    process.stdout.write(`${lines.join("\n")}\n`);
    say(answer);
  } else if (params?.name === "grow") {
    tools.push({ name: "grown", inputSchema });
    say({ method: "notifications/tools/list_changed" });
    say(answer);
  } else say(answer);
}

function filled(text: string, id: Message["id"]): string {
  return text.replaceAll("$ID", JSON.stringify(id));
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
