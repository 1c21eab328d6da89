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
