/**
 * A real MCP server over pipes that reads its tools from a file, its first argument, for each list. Calling `announce` makes
 * it notify that they changed. It appends every other call to the file `ran` beside it, its arguments to `arguments` and
 * the process id of every start to `started`. While there is a file `held` beside it, it answers nothing. It adds the members of `list` beside it to the list; `answers` holds the answers of tools by
 * name, and `resources` the contents of resources. It lists a tool's page (MCP Apps) only to a client that shows such pages.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly uri?: string;
    readonly protocolVersion?: string;
    readonly arguments?: object;
    readonly capabilities?: { readonly extensions?: Record<string, { readonly mimeTypes?: readonly string[] }> };
  };
}

const [, , file = ""] = process.argv;
let showsPages = false;
appendFileSync(join(dirname(file), "started"), `${process.pid}\n`);

createInterface({ input: process.stdin }).on("line", function hear(line: string): void {
  if (existsSync(join(dirname(file), "held"))) return void setTimeout(hear, 10, line);
  const message: Message = JSON.parse(line);
  if (message.id === undefined) return;
  const { id } = message;
  const result = answer(message);
  const error = { code: -32_601, message: "Method not found" };
  say(result === undefined ? { id, error } : { id, result });
  if (message.params?.name === "announce") say({ method: "notifications/tools/list_changed" });
});

function answer({ method, params }: Message): object | undefined {
  if (method === "initialize") {
    const ui = params?.capabilities?.extensions?.["io.modelcontextprotocol/ui"];
    showsPages = ui?.mimeTypes?.includes("text/html;profile=mcp-app") === true;
    const capabilities = { tools: { listChanged: true } };
    return { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "changing", version: "1" } };
  }
  if (method === "ping") return {};
  if (method === "resources/read") {
    const content = beside("resources")[params?.uri ?? ""];
    return content && { contents: [{ uri: params?.uri, ...content }] };
  }
  if (method === "tools/list") return { tools: [announce, ...listed()], ...beside("list") };
  if (method !== "tools/call") return undefined;
  const { name = "" } = params ?? {};
  if (name !== "announce") {
    appendFileSync(join(dirname(file), "ran"), `${name}\n`);
    appendFileSync(join(dirname(file), "arguments"), `${JSON.stringify(params?.arguments ?? null)}\n`);
  }
  return beside("answers")[name] ?? { content: [{ type: "text", text: `ran ${name}` }] };
}

function listed(): readonly object[] {
  const tools: readonly { readonly _meta?: Record<string, unknown> | null }[] = JSON.parse(readFileSync(file, "utf8"));
  if (showsPages) return tools;
  return tools.map((tool) => {
    if (!tool._meta) return tool;
    const { ui: _, "ui/resourceUri": __, ...rest } = tool._meta;
    return { ...tool, _meta: rest };
  });
}

function beside(name: string): Record<string, object> {
  const path = join(dirname(file), name);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}

const announce = { name: "announce", description: "Says that the tools changed.", inputSchema: { type: "object" } };

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
