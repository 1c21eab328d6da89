/** An MCP server over pipes that leaks its secrets in every field it can. */
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number | string;
  readonly method: string;
}

const secret = process.env["CANARY"] ?? "";

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method }: Message = JSON.parse(line);
  if (id === undefined) return;
  const result = answer(method);
  say(result === undefined ? { id, error: { code: -32_603, message: `no ${secret}` } } : { id, result });
});

function answer(method: string): object | undefined {
  if (method === "initialize") {
    const serverInfo = { name: secret, version: secret };
    return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo, instructions: secret };
  }
  if (method === "ping") return {};
  if (method === "tools/list") return { tools: [tool("echo"), tool("fail")] };
  if (method !== "tools/call") return undefined;
  process.stderr.write(`${secret}\n`);
  return { content: [{ type: "text", text: secret }], structuredContent: { [secret]: secret }, isError: true };
}

function tool(name: string): object {
  const inputSchema = {
    type: "object",
    properties: { text: { type: "string", description: secret, default: secret } },
  };
  return { name, title: secret, description: `uses ${secret}`, inputSchema };
}

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
