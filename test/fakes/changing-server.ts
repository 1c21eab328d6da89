/**
 * A real MCP server over pipes whose tools are whatever stands in a file (its first argument) at the moment they are
 * listed. Calling `announce` makes it say that they changed; every other call is written to the file `ran` beside it, its
 * arguments to `arguments`, every start to `started`. Members of `list` beside it are added to the list, a tool that
 * has a member in `answers` answers that, and a resource that has one in `resources` is read as that.
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
  };
}

const [, , file = ""] = process.argv;
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
    const capabilities = { tools: { listChanged: true } };
    return { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "changing", version: "1" } };
  }
  if (method === "ping") return {};
  if (method === "resources/read") {
    const content = beside("resources")[params?.uri ?? ""];
    return content && { contents: [{ uri: params?.uri, ...content }] };
  }
  if (method === "tools/list")
    return { tools: [announce, ...JSON.parse(readFileSync(file, "utf8"))], ...beside("list") };
  if (method !== "tools/call") return undefined;
  const { name = "" } = params ?? {};
  if (name !== "announce") {
    appendFileSync(join(dirname(file), "ran"), `${name}\n`);
    appendFileSync(join(dirname(file), "arguments"), `${JSON.stringify(params?.arguments ?? null)}\n`);
  }
  return beside("answers")[name] ?? { content: [{ type: "text", text: `ran ${name}` }] };
}

function beside(name: string): Record<string, object> {
  const path = join(dirname(file), name);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}

const announce = { name: "announce", description: "Says that the tools changed.", inputSchema: { type: "object" } };

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
