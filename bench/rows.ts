import { z } from "zod";
import { createRuntime, defineTool } from "../packages/postern/src/index.ts";
import type { Opened, Row } from "./harness.ts";

const schema = z.object({ a: z.number(), b: z.number() });
const sum = async ({ a, b }: { readonly a: number; readonly b: number }): Promise<{ sum: number }> => ({ sum: a + b });

/** What a model is told: text, as MCP's row answers too. */
const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  input: schema,
  execute: async ({ a, b }) => String(a + b),
});
const hooks = { toolStart() {}, toolEnd() {} };

async function inSessions(): Promise<Opened> {
  const runtime = await createRuntime({ tools: [add], autonomy: "A2", hooks });
  let session = runtime.openSession();
  return {
    async add(i) {
      if (session.callCount === 10_000) session = runtime.openSession();
      return Number((await session.invoke({ tool: "add", arguments: { a: i, b: 1 } })).text);
    },
    close: () => runtime.close(),
  };
}

async function oneByOne(): Promise<Opened> {
  const runtime = await createRuntime({ tools: [add], autonomy: "A2", hooks });
  return {
    add: async (i) => Number((await runtime.invoke({ tool: "add", arguments: { a: i, b: 1 } })).text),
    close: () => runtime.close(),
  };
}

export const ours: readonly Row[] = [
  {
    id: "bare",
    who: "bare function",
    what: "await add({ a, b })",
    open: async () => ({ add: async (i) => (await sum({ a: i, b: 1 })).sum }),
  },
  {
    id: "zod",
    who: "zod 4",
    what: "schema.parse, then add",
    open: async () => ({ add: async (i) => (await sum(schema.parse({ a: i, b: 1 }))).sum }),
  },
  {
    id: "postern",
    who: "Postern",
    what: "whole path, store in memory: every gate, ledger, audit log with its tree, 2 hooks",
    open: inSessions,
  },
  { id: "postern.bare", who: "Postern", what: "the same, a session of one call each", open: oneByOne },
];
