import type { JsonObject } from "@postern/core";
import { expect, it } from "vitest";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import { type ClaudeAgent, claudeAgent, wrapClaudeTools } from "./claude-agent.ts";

const signal = new AbortController().signal;
const decided = { command: "ls", cwd: "/srv" };

function hook(
  { options }: ClaudeAgent,
  name: "PreToolUse" | "PostToolUse",
  more: object,
): Promise<unknown> | undefined {
  const input = { hook_event_name: name, tool_use_id: "toolu_1", tool_name: "Bash", ...more };
  return options.hooks[name][0]?.hooks[0]?.(input, "toolu_1", { signal });
}

/** The state of a call that was decided with some arguments and that the host ran with others. */
async function stateAfter(ranWith: JsonObject | undefined): Promise<string | undefined> {
  await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
  wrapClaudeTools(runtime, { Bash: { risk: "safe", effects: "write" } });
  await using postern = claudeAgent(runtime);
  await hook(postern, "PreToolUse", { tool_input: decided });
  await hook(postern, "PostToolUse", { tool_input: ranWith, tool_response: { stdout: "a.txt" } });
  return (await runtime.calls.list())[0]?.state;
}

it.each<[string, JsonObject | undefined, string]>([
  ["the same arguments", decided, "ok"],
  ["a default of the host beside them", { ...decided, timeout: 1000 }, "ok"],
  ["another value", { ...decided, command: "rm -r ." }, "unknown"],
  ["a member left out", { command: "ls" }, "unknown"],
  ["no arguments", undefined, "unknown"],
])("records a call that the host ran with %s", async (_what, ranWith, state) => {
  expect(await stateAfter(ranWith)).toBe(state);
});
