import { access, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SDKResultMessage } from "@anthropic-ai/claude-agent-sdk";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import type { Server } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { type ClaudeAgent, claudeAgent, wrapClaudeTools } from "../../packages/agents/src/claude-agent.ts";
import type { Risk } from "../../packages/core/src/call.ts";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../packages/postern/src/runtime/create.ts";
import { defineTool } from "../../packages/postern/src/tools/define.ts";
import { claudeProgram, claudeStub } from "./claude-stub.ts";

const signal = new AbortController().signal;
const echo = (id: string, text: string) => ({ id, name: "Bash", input: { command: `echo ${text} >> out.txt` } });

async function runtimeWith(risk: Risk): Promise<Runtime> {
  const runtime = await createRuntime({ approvals: { patience: "suspend" } });
  wrapClaudeTools(runtime, { Bash: { risk, effects: "write" } });
  return runtime;
}

async function approveFirst(runtime: Runtime): Promise<void> {
  const [request] = await runtime.approvals.list({ state: "pending" });
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
}

async function typesOf(runtime: Runtime): Promise<string[]> {
  return (await runtime.audit.query({})).map(({ type }) => type);
}

type Hook = keyof ClaudeAgent["options"]["hooks"];

/** What the SDK does around a tool. */
function hooksOf({ options }: ClaudeAgent): (hook: Hook, more: object) => Promise<Record<string, unknown>> {
  return async (hook, more) => {
    const input = { hook_event_name: hook, tool_use_id: "toolu_1", tool_name: "Bash", ...more };
    const output = await options.hooks[hook][0]?.hooks[0]?.(input, "toolu_1", { signal });
    return { ...output?.hookSpecificOutput };
  };
}

const asked = { tool_input: { command: "ls" } };

it("refuses a tool whose risk is not stated", async () => {
  await using runtime = await createRuntime();
  expect(() => wrapClaudeTools(runtime, { Bash: {} as never })).toThrow(/`Bash` has no risk/);
  await using postern = claudeAgent(runtime);
  expect(await hooksOf(postern)("PreToolUse", asked)).toMatchObject({ permissionDecision: "deny" });
});

it("claims a call before the SDK runs it and records how it ended", async () => {
  await using runtime = await runtimeWith("safe");
  await using postern = claudeAgent(runtime);
  const hook = hooksOf(postern);
  expect(await hook("PreToolUse", asked)).toMatchObject({ permissionDecision: "ask", updatedInput: asked.tool_input });
  expect((await runtime.calls.list())[0]?.state).toBe("attempted");
  await hook("PostToolUse", { ...asked, tool_response: { stdout: "a.txt" } });
  expect((await runtime.calls.list())[0]).toMatchObject({ state: "ok", outcome: { structured: { stdout: "a.txt" } } });
});

it("records a failure of the SDK's tool", async () => {
  await using runtime = await runtimeWith("safe");
  await using postern = claudeAgent(runtime);
  await hooksOf(postern)("PreToolUse", asked);
  await hooksOf(postern)("PostToolUseFailure", { ...asked, error: "no such file" });
  expect((await runtime.calls.list())[0]).toMatchObject({ state: "failed" });
});

it("records a call as unknown if the SDK never reports its end", async () => {
  await using runtime = await runtimeWith("safe");
  const postern = claudeAgent(runtime);
  await hooksOf(postern)("PreToolUse", asked);
  await postern[Symbol.asyncDispose]();
  expect((await runtime.calls.list())[0]).toMatchObject({ state: "unknown" });
});

it("runs nothing when the arguments are changed after the decision, and keeps the approval", async () => {
  await using runtime = await runtimeWith("high");
  await using postern = claudeAgent(runtime, { runId: "run-1" });
  const hook = hooksOf(postern);
  expect(await hook("PreToolUse", asked)).toMatchObject({ permissionDecision: "defer" });
  await approveFirst(runtime);
  expect(await hook("PreToolUse", asked)).toMatchObject({ permissionDecision: "ask" });
  const changed = await postern.options.canUseTool("Bash", { command: "rm -r ." }, { signal, toolUseID: "toolu_1" });
  expect(changed).toMatchObject({ behavior: "deny", message: expect.stringContaining("arguments were changed") });
  expect(await hook("PreToolUse", asked)).toMatchObject({ permissionDecision: "ask" });
});

it("records a call that a rule of the SDK refused as not run", async () => {
  await using runtime = await runtimeWith("safe");
  await using postern = claudeAgent(runtime);
  const hook = hooksOf(postern);
  await hook("PreToolUse", asked);
  await hook("PostToolBatch", { tool_calls: [{ tool_use_id: "toolu_1" }] });
  expect((await runtime.calls.list())[0]).toMatchObject({ state: "failed" });
});

it("gives the model the redacted result", async () => {
  await using runtime = await createRuntime({ secretPatterns: "mask" });
  wrapClaudeTools(runtime, { Bash: { risk: "safe" } });
  await using postern = claudeAgent(runtime);
  await hooksOf(postern)("PreToolUse", asked);
  const token = `ghp_${"a1B2".repeat(9)}`;
  const output = await hooksOf(postern)("PostToolUse", { ...asked, tool_response: { stdout: token } });
  expect(output).toMatchObject({ updatedToolOutput: { stdout: expect.not.stringContaining(token) } });
});

it("defers a call again when the session is resumed before the decision", async () => {
  await using runtime = await runtimeWith("high");
  await using postern = claudeAgent(runtime, { runId: "run-1" });
  for (let i = 0; i < 2; i += 1)
    expect(await hooksOf(postern)("PreToolUse", asked)).toMatchObject({ permissionDecision: "defer" });
  expect(await runtime.approvals.list()).toHaveLength(1);
});

it("gives the SDK one line of text for a file that it cannot take", async () => {
  const data = Buffer.from("1,20\n").toString("base64");
  const orders = defineTool({
    ...{ name: "orders", description: "Lists orders.", risk: "safe", effects: "read", idempotent: true },
    execute: () => ({ content: [{ type: "file", mediaType: "text/csv", name: "orders.csv", data }] }),
  });
  await using runtime = await createRuntime({ tools: [orders] });
  await using postern = claudeAgent(runtime, { runId: "run-1" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server: Server = postern.options.mcpServers.postern.instance;
  const client = new Client({ name: "sdk", version: "1" });
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  const { content } = await client.callTool({ name: "orders", arguments: {} });
  expect(content).toEqual([{ type: "text", text: expect.stringMatching(/^\[file: orders\.csv, text\/csv, 5 bytes/) }]);
  await client.close();
});

const inProgram = it.skipIf(claudeProgram === undefined);

inProgram("runs stated tools and Postern's own in the SDK's program, and no others", async () => {
  await using runtime = await runtimeWith("safe");
  const sent: unknown[] = [];
  runtime.tools.register(
    defineTool({
      ...{ name: "send_mail", description: "Sends a mail.", risk: "safe", effects: "write", idempotent: false },
      inputSchema: { type: "object", properties: { to: { type: "string" } } },
      execute: (given) => `sent ${sent.push(given)}`,
    }),
  );
  await using stub = await claudeStub([
    { uses: [echo("toolu_1", "one")] },
    { uses: [{ id: "toolu_2", name: "mcp__postern__send_mail", input: { to: "ada" } }] },
    { uses: [{ id: "toolu_3", name: "Write", input: { file_path: "other.txt", content: "x" } }] },
  ]);
  await using postern = claudeAgent(runtime, { runId: "run-1" });
  await stub.run({ ...postern.options, tools: ["Bash", "Write"] });
  expect(await readFile(join(stub.home, "out.txt"), "utf8")).toBe("one\n");
  expect(sent).toEqual([{ to: "ada" }]);
  expect(stub.read[2]).toContain("sent 1");
  expect(stub.read[3]).toContain("Write");
  await expect(access(join(stub.home, "other.txt"))).rejects.toThrow();
  const calls = await runtime.calls.list();
  expect(calls.map(({ call, state }) => `${call.tool} ${state}`)).toEqual(["send_mail ok", "Bash ok"]);
  expect(await typesOf(runtime)).toContain("tool_call.refused");
});

inProgram("waits for a person over the end of the query, and runs an approved call once", async () => {
  await using runtime = await runtimeWith("high");
  await using stub = await claudeStub([{ uses: [echo("toolu_1", "one")] }]);
  const go = async (more: object): Promise<SDKResultMessage | undefined> => {
    await using postern = claudeAgent(runtime, { runId: "run-1" });
    const messages = await stub.run({ ...postern.options, ...more });
    return messages.find((message) => message.type === "result");
  };
  const first = await go({});
  expect(first).toMatchObject({ stop_reason: "tool_deferred", deferred_tool_use: { id: "toolu_1" } });
  await approveFirst(runtime);
  const resume = { resume: first?.session_id, forkSession: true };
  await go(resume);
  await go(resume);
  expect(await readFile(join(stub.home, "out.txt"), "utf8")).toBe("one\n");
  expect(stub.read.join("\n")).toContain("has run already");
  expect((await runtime.calls.list())[0]).toMatchObject({ state: "ok" });
});

inProgram("runs nothing when the stored session was edited while it waited", async () => {
  await using runtime = await runtimeWith("high");
  await using stub = await claudeStub([{ uses: [echo("toolu_1", "one")] }]);
  const go = async (more: object): Promise<SDKResultMessage | undefined> => {
    await using postern = claudeAgent(runtime, { runId: "run-1" });
    return (await stub.run({ ...postern.options, ...more })).find((message) => message.type === "result");
  };
  const first = await go({});
  await approveFirst(runtime);
  const sessions = join(stub.home, "config/projects");
  const stored = (await readdir(sessions, { recursive: true })).find((path) => path.endsWith(".jsonl")) ?? "";
  const text = await readFile(join(sessions, stored), "utf8");
  await writeFile(join(sessions, stored), text.replaceAll("echo one", "echo two"));
  await go({ resume: first?.session_id });
  await expect(access(join(stub.home, "out.txt"))).rejects.toThrow();
});

inProgram("keeps from the model a result that a guardrail withholds", async () => {
  const guardrail = {
    ...{ name: "codenames", on: "result" as const },
    check: () => [{ effect: "WITHHOLD" as const, why: "a code name" }],
  };
  await using runtime = await createRuntime({ guardrails: [guardrail] });
  wrapClaudeTools(runtime, { Bash: { risk: "safe" } });
  await using stub = await claudeStub([
    { uses: [{ id: "toolu_1", name: "Bash", input: { command: "printf '\\157\\163\\160\\162\\145\\171'" } }] },
  ]);
  await using postern = claudeAgent(runtime);
  const messages = await stub.run(postern.options);
  expect(JSON.stringify(messages)).toContain("withheld");
  expect(JSON.stringify([messages, stub.read])).not.toContain("osprey");
});
