/** A destructive tool without a rule is offered to nobody; its author is told. */
import { describe, expect, it, vi } from "vitest";
import { wrapOpenaiAgentsTools } from "../../packages/agents/src/openai-agents.ts";
import { createRuntime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { probe } from "../fakes/probe.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const [wipe] = probe({ name: "wipe", risk: "high", effects: "destructive", idempotent: false });
const [shell] = probe({ name: "sh", risk: "high", effects: "write", idempotent: false, permissions: ["shell"] });
const [look] = probe();

async function warnings(options: RuntimeOptions): Promise<readonly string[]> {
  const log = vi.fn();
  await using _ = await createRuntime({ ...options, log });
  return log.mock.calls.flat();
}

describe.each(storeKinds)("a tool that is off, in %s", (kind) => {
  it("is warned of with the rule to write, and the rule works", async () => {
    const tools = [wipe, shell, look] as never;
    expect(await warnings({ store: newStore(kind), tools })).toEqual([
      '`sh`, `wipe` are offered to no agent: a tool that is destructive or runs a shell is off until a policy rule names it. Write in `policy.rules`: { effect: "confirm", tool: "sh" }, { effect: "confirm", tool: "wipe" }; or `effect: "allow"` to ask no person.',
    ]);
    const rules = ["sh", "wipe"].map((tool) => ({ effect: "confirm", tool }) as const);
    await using runtime = await createRuntime({ store: newStore(kind), tools, policy: { rules } });
    const offered = runtime.offered({ tenant: "default", agent: "a" }).map(({ tool }) => tool);
    expect(offered).toEqual(["probe", "sh", "wipe"]);
  });
});

it("is not warned of if a rule names it, also for some agents only", async () => {
  const rules = [{ effect: "allow", tool: "wipe", principal: { agent: "ops" } }] as const;
  expect(await warnings({ tools: [wipe] as never, policy: { rules } })).toEqual([]);
});

it("is warned of when it is wrapped, as a process warning without a log", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
  try {
    await using runtime = await createRuntime();
    const theirs = {
      ...{ type: "function", name: "delete_rows", description: "Deletes rows.", strict: false, needsApproval: false },
      ...{ parameters: { type: "object", properties: {} }, invoke: () => Promise.resolve("done") },
    };
    wrapOpenaiAgentsTools(runtime, [theirs] as never, { delete_rows: { risk: "high", effects: "destructive" } });
    expect(warned.mock.calls.map(([message]) => String(message))).toEqual([
      expect.stringContaining('Write in `policy.rules`: { effect: "confirm", tool: "delete_rows" }'),
    ]);
  } finally {
    warned.mockRestore();
  }
});
