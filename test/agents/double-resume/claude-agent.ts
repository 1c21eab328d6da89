import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Options } from "@anthropic-ai/claude-agent-sdk";
import { claudeAgent as gated, wrapClaudeTools } from "../../../packages/agents/src/claude-agent.ts";
import { type ClaudeStub, claudeStub } from "../claude-stub.ts";
import { type Library, type Stage, statement } from "./scenario.ts";

/** Alone, the program asks its own hook: it puts the call off first, and a person's yes lets it run. */
function alone(isApproved: boolean): Options {
  const permissionDecision = isApproved ? "allow" : "defer";
  const hook = async () => ({
    hookSpecificOutput: { hookEventName: "PreToolUse" as const, permissionDecision } as const,
  });
  const canUseTool: Options["canUseTool"] = async (_name, updatedInput) => ({ behavior: "allow", updatedInput });
  return { tools: ["Bash"], hooks: { PreToolUse: [{ hooks: [hook] }] }, canUseTool };
}

async function run({ runtime }: Stage, stub: ClaudeStub, resume?: string): Promise<string> {
  const more: Options = resume === undefined ? {} : { resume, forkSession: true };
  await using postern = runtime && gated(runtime, { runId: "run-1" });
  const messages = await stub.run({ ...(postern?.options ?? alone(resume !== undefined)), ...more });
  return messages.find((message) => message.type === "result")?.session_id ?? "";
}

async function edit(stub: ClaudeStub): Promise<void> {
  const folder = join(stub.home, "config/projects");
  const name = (await readdir(folder, { recursive: true })).find((path) => path.endsWith(".jsonl")) ?? "";
  const text = await readFile(join(folder, name), "utf8");
  await writeFile(join(folder, name), text.replaceAll("echo 1", "echo 999"));
}

export const claudeAgent: Library = {
  name: "Claude Agent SDK 0.3",
  async run(scenario, stage) {
    if (scenario === "approval forged") return false; // the session is the server's own
    if (stage.runtime !== undefined) wrapClaudeTools(stage.runtime, { Bash: statement });
    const input = { command: "echo 1 >> out.txt" };
    await using stub = await claudeStub([{ uses: [{ id: "toolu_1", name: "Bash", input }] }]);
    const session = await run(stage, stub);
    await stage.approve();
    if (scenario === "stored arguments edited") await edit(stub);
    await run(stage, stub, session);
    if (scenario === "resumed twice") await run(stage, stub, session);
    const lines = await readFile(join(stub.home, "out.txt"), "utf8").catch(() => "");
    for (const line of lines.split("\n").filter(Boolean)) stage.ran(line);
    return true;
  },
};
