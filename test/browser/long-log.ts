/** A long log, written before the runtime is opened. */
import { defineTool } from "../../packages/postern/src/index.ts";
import type { RuntimeFixture } from "./console-fixture.ts";
import { inside } from "./inside.ts";

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

/** Two hundred runs of seven agents; a few calls of the first two thousand name an unknown tool. */
export async function longLog(postern: RuntimeFixture): Promise<void> {
  await inside(postern, { tools: [reads, fails] }, (runtime, at) => {
    const run = at % 200; // each run belongs to one agent
    const principal = { tenant: "default", agent: `agent-${run % 7}`, via: "token:agent" };
    const tool = at < 2_000 && at % 100 === 99 ? `needle_${at}` : at % 5_000 === 2_500 ? "flaky_fetch" : "clock_now";
    return at < calls && runtime.invoke({ tool, arguments: { at } }, { principal, runId: `run-${run}` });
  });
}
