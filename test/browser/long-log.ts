/** A log that has grown long before the house is opened, written by the same path as any other. */
import { join } from "node:path";
import { createRuntime, defineTool } from "../../src/index.ts";
import type { House } from "./house.ts";

/** Each call is attempted and ends. */
const calls = 50_000;
export const events: number = 2 * calls;

const shape = {
  description: "Reads.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  inputSchema: { type: "object" },
} as const;
const reads = defineTool({ ...shape, name: "clock_now", execute: () => "now" });
const fails = defineTool({
  ...shape,
  name: "flaky_fetch",
  execute: () => {
    throw new Error("no luck");
  },
});

/** Two hundred runs of seven agents; a few calls of the first two thousand name a tool that is not there. */
export async function longLog({ folder }: House): Promise<void> {
  const data = join(folder, ".postern");
  const runtime = await createRuntime({
    tools: [reads, fails],
    folder: data,
    store: `sqlite:${join(data, "postern.db")}`,
    limits: { maxToolCalls: 10_000_000 },
  });
  const call = (at: number): Promise<unknown> => {
    const run = at % 200; // a run is one agent's
    const principal = { tenant: "default", agent: `agent-${run % 7}`, via: "token:agent" };
    const tool = at < 2_000 && at % 100 === 99 ? `needle_${at}` : at % 5_000 === 2_500 ? "flaky_fetch" : "clock_now";
    return runtime.invoke({ tool, arguments: { at } }, { principal, runId: `run-${run}` });
  };
  for (let from = 0; from < calls; from += 500)
    await Promise.all(Array.from({ length: 500 }, (_, at) => call(from + at)));
  await runtime.close();
}
