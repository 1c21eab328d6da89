/**
 * A real MCP server over pipes whose tools are whatever stands in a file (its first argument) at the moment they are
 * listed. Calling `announce` makes it say that they changed; every other call is written to the file `ran` beside it, its
 * arguments to `arguments`, every start to `started`. Members of `list` beside it are added to the list, a tool that
 * has a member in `answers` answers that, and a resource that has one in `resources` is read as that. It lists the page of a
 * tool (MCP Apps) only to a client that declares that it shows pages of that type.
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
appendFileSync(join(dirname(file), "started"), "started\n");

createInterface({ input: process.stdin }).on("line", (line) => {
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
