/**
 * A real MCP server over pipes, by the SDK, that tells things by itself when its tools are called. Each message that it
 * receives adds a line to the file `heard` in the folder of its first argument; `instructions` in that folder are its own.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [, , folder = ""] = process.argv;
const names = ["touch", "lists", "log", "later", "steps"] as const;
const levels = ["debug", "info", "error"] as const;
const stated = join(folder, "instructions");
const instructions = existsSync(stated) ? { instructions: readFileSync(stated, "utf8") } : {};

process.stdin.on("data", (lines: Buffer) => {
  appendFileSync(join(folder, "heard"), lines);
});

serveStdio(() => {
  const capabilities = {
    ...{ tools: {}, logging: {}, prompts: { listChanged: true } },
    resources: { subscribe: true, listChanged: true },
  };
  const server = new Server({ name: "noticing", version: "1" }, { capabilities, ...instructions });
  server.setRequestHandler("tools/list", () => ({
    tools: names.map((name) => ({ name, description: "Tells.", inputSchema: { type: "object" as const } })),
  }));
  server.setRequestHandler("resources/subscribe", () => ({}));
  server.setRequestHandler("resources/unsubscribe", () => ({}));
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: given = {} } }, { mcpReq }) => {
    if (name === "touch") await server.sendResourceUpdated({ uri: String(given["uri"]) });
    if (name === "lists") {
      await server.sendResourceListChanged();
      await server.sendPromptListChanged();
    }
    if (name === "log") for (const level of levels) await mcpReq.log(level, { text: given["text"] }, "noticing");
    if (name === "steps") await mcpReq.notify({ method: "notifications/example/step", params: { step: 1 } } as never); // of no protocol
    const later = { level: "info" as const, data: { text: given["text"] } };
    if (name === "later") setTimeout(() => void server.sendLoggingMessage(later), 50);
    return { content: [{ type: "text" as const, text: "told" }] };
  });
  return server;
});
