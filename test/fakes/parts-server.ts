/**
 * A real MCP server over pipes that serves a big file in parts: `read_part` returns one, `weigh_part` takes one and
 * `append_part` writes one to `copy`. It makes each part when it is read; every line of a part has its number.
 */
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly arguments?: { readonly part?: number; readonly text?: string } };
}

const [, , copy = "", partBytes = "1000"] = process.argv;

function partOf(part: number, bytes: number): string {
  const line = `${String(part).padStart(6, "0")} ${"0123456789abcdef".repeat(4)}\n`;
  return line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message: Message = JSON.parse(line);
  if (message.id === undefined) return;
  const answered = { jsonrpc: "2.0", id: message.id, result: answer(message) };
  process.stdout.write(`${JSON.stringify(answered)}\n`);
});

function answer({ method, params }: Message): object {
  if (method === "initialize")
    return {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "parts", version: "1" },
    };
  if (method === "tools/list") return { tools: [readPart, weighPart, appendPart, digest] };
  if (method !== "tools/call") return {};
  return { content: [{ type: "text", text: called(params) }] };
}

function called(params: Message["params"]): string {
  const { part = 0, text = "" } = params?.arguments ?? {};
  if (params?.name === "read_part") return partOf(part, Number(partBytes));
  if (params?.name === "digest") return createHash("sha256").update(readFileSync(copy)).digest("hex");
  if (params?.name === "append_part") appendFileSync(copy, text);
  return `${text.length} characters`;
}

const part = { type: "object", properties: { part: { type: "integer" } }, required: ["part"] };
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const readPart = { name: "read_part", description: "One part.", inputSchema: part };
const weighPart = { name: "weigh_part", description: "How long it is.", inputSchema: text };
const appendPart = { name: "append_part", description: "Writes one part to the copy.", inputSchema: text };
const digest = { name: "digest", description: "SHA-256 of the copy.", inputSchema: { type: "object" } };
