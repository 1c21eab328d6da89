import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Row } from "./harness.ts";

/** MCP's own in-memory call: a schema and the protocol, no gate, no record. */
export const mcpRow: Row = {
  id: "mcp",
  who: "MCP SDK 2.4",
  what: "client.callTool in memory, no gate",
  open: async () => {
    const server = new McpServer({ name: "bench", version: "1" });
    server.registerTool(
      "add",
      { description: "Adds.", inputSchema: z.object({ a: z.number(), b: z.number() }) },
      async ({ a, b }) => ({
        content: [{ type: "text", text: String(a + b) }],
      }),
    );
    const [serverSide, clientSide] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: "bench", version: "1" });
    await server.connect(serverSide);
    await client.connect(clientSide);
    await client.listTools();
    return {
      add: async (i) => {
        const { content } = await client.callTool({ name: "add", arguments: { a: i, b: 1 } });
        const [block] = content;
        return block?.type === "text" ? Number(block.text) : Number.NaN;
      },
      close: () => client.close(),
    };
  },
};
