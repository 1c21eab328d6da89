/**
 * A real MCP server over pipes with the tool `work`, which takes `ms` milliseconds, or until there is the file that `until`
 * names. It appends `begin` and `end` of each call, with its process id, to the file in its first argument.
 * Several of its processes may write into one file: the lines are in the order of what happened.
 */
import { appendFileSync, existsSync } from "node:fs";
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly arguments?: { readonly ms?: number; readonly until?: string };
  };
}

const [, , file = ""] = process.argv;
const input = {
  type: "object",
  properties: { n: { type: "number" }, ms: { type: "number" }, until: { type: "string" } },
};
const annotations = { readOnlyHint: true };

createInterface({ input: process.stdin })
  .on("line", (line) => void hear(JSON.parse(line)))
  .on("close", () => process.exit());

async function hear({ id, method, params }: Message): Promise<void> {
  if (id === undefined) return;
  const { protocolVersion = "2025-11-25", arguments: given = {} } = params ?? {};
  if (method === "initialize")
    say(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "recording", version: "1" } });
  else if (method === "tools/list") say(id, { tools: [{ name: "work", inputSchema: input, annotations }] });
  else if (method === "tools/call") {
    record("begin");
    await work(given);
    record("end");
    say(id, { content: [{ type: "text", text: "done" }] });
  } else say(id, {});
}

async function work({ ms = 0, until }: { readonly ms?: number; readonly until?: string }): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, until === undefined ? ms : 10));
  while (until !== undefined && !existsSync(until));
}

function record(what: string): void {
  appendFileSync(file, `${what} ${process.pid}\n`);
}

function say(id: number | string, result: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}
