// The same work on peers: add({ a: i, b: 1 }), arguments checked against a schema. A peer that is not installed is left out.
import { z } from "zod";

const schema = z.object({ a: z.number(), b: z.number() });
const add = async ({ a, b }) => ({ sum: a + b });

export const rows = [
  {
    id: "langchain",
    who: "LangChain core",
    what: "tool.invoke, no gate",
    open: async () => {
      const { tool } = await import("@langchain/core/tools");
      const adds = tool(add, { name: "add", description: "Adds two numbers.", schema });
      return { add: async (i) => (await adds.invoke({ a: i, b: 1 })).sum };
    },
  },
  {
    id: "mcp1",
    who: "MCP SDK 1.32",
    what: "client.callTool in memory, no gate",
    open: async () => {
      const { McpServer } = await import("@modelcontextprotocol/sdk/server/mcp.js");
      const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
      const { InMemoryTransport } = await import("@modelcontextprotocol/sdk/inMemory.js");
      const server = new McpServer({ name: "bench", version: "1" });
      const inputSchema = { a: z.number(), b: z.number() };
      server.registerTool("add", { description: "Adds.", inputSchema }, async ({ a, b }) => ({
        content: [{ type: "text", text: String(a + b) }],
      }));
      const [serverSide, clientSide] = InMemoryTransport.createLinkedPair();
      const client = new Client({ name: "bench", version: "1" });
      await server.connect(serverSide);
      await client.connect(clientSide);
      await client.listTools();
      return {
        add: async (i) => Number((await client.callTool({ name: "add", arguments: { a: i, b: 1 } })).content[0].text),
        close: () => client.close(),
      };
    },
  },
  {
    id: "governance",
    who: "MS Agent Governance SDK",
    what: "executeWithGovernance, 3 rules, hash chain in memory",
    open: async () => {
      const { AgentMeshClient } = await import("@microsoft/agent-governance-sdk");
      const rules = [
        { action: "tool.add", effect: "allow" },
        { action: "data.write", effect: "allow", conditions: { role: "admin" } },
        { action: "*", effect: "deny" },
      ];
      const client = AgentMeshClient.create("a", { capabilities: ["tool.add"], policyRules: rules });
      return {
        add: async (i) => {
          const governed = await client.executeWithGovernance("tool.add", { a: i, b: 1 });
          if (governed.decision !== "allow") throw new Error(governed.decision);
          return (await add({ a: i, b: 1 })).sum;
        },
      };
    },
  },
];
