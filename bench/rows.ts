import { z } from "zod";
import { createRuntime, defineTool, type RuntimeOptions } from "../src/index.ts";
import type { Row } from "./harness.ts";

const schema = z.object({ a: z.number(), b: z.number() });
const sum = async ({ a, b }: { readonly a: number; readonly b: number }): Promise<{ sum: number }> => ({ sum: a + b });

function sumOf(value: unknown): number {
  return (value as { readonly sum?: number } | undefined)?.sum ?? Number.NaN; // the row's own check finds anything else
}

async function governed(
  options: RuntimeOptions,
  autonomy: "A2" | undefined,
): Promise<{ add: (i: number) => Promise<number>; close: () => Promise<void> }> {
  const add = defineTool({
    name: "add",
    description: "Adds two numbers.",
    risk: "safe",
    effects: "read",
    idempotent: true,
    input: schema,
    execute: sum,
  });
  const runtime = await createRuntime({
    tools: [add],
    hooks: { toolStart() {}, toolEnd() {} },
    ...(autonomy !== undefined && { autonomy }),
    ...options,
  });
  let session = runtime.openSession();
  return {
    async add(i) {
      if (session.callCount === 10_000) session = runtime.openSession();
      return sumOf((await session.invoke({ tool: "add", arguments: { a: i, b: 1 } })).structured);
    },
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
    what: "whole path, SQLite in memory: gates, ledger, audit log with its tree, 2 hooks",
    open: () => governed({ store: "sqlite::memory:" }, "A2"),
  },
  { id: "postern.bare", who: "Postern", what: "the same, a session of one call each", open: () => bareInvoke() },
  {
    id: "postern.memory",
    who: "Postern",
    what: "the same path on Maps",
    open: () => governed({ store: "memory" }, "A2"),
  },
];

async function bareInvoke(): Promise<{ add: (i: number) => Promise<number>; close: () => Promise<void> }> {
  const add = defineTool({
    name: "add",
    description: "Adds two numbers.",
    risk: "safe",
    effects: "read",
    idempotent: true,
    input: schema,
    execute: sum,
  });
  const runtime = await createRuntime({ tools: [add], store: "sqlite::memory:", autonomy: "A2" });
  return {
    add: async (i) => sumOf((await runtime.invoke({ tool: "add", arguments: { a: i, b: 1 } })).structured),
    close: () => runtime.close(),
  };
}
