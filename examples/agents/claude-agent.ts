/** Claude Agent SDK: its own `Bash` behind the gate. A session that waits for a person is resumed, and the call runs once. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { claudeAgent, wrapClaudeTools } from "@postern/agents/claude-agent";
import { createRuntime } from "postern";
import { anthropicServer } from "./stand-in/anthropic-server.ts";

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });
wrapClaudeTools(runtime, { Bash: { risk: "high", effects: "write", idempotent: false } });

/** Offline, with a home of its own. */
const server = await anthropicServer({ name: "Bash", input: { command: "echo '(a mail leaves' for ada')'" } });
const home = mkdtempSync(`${tmpdir()}/claude-`);
const env = {
  ...{ PATH: "/usr/bin:/bin", HOME: home, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url },
  ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1" },
};

async function run(resume?: string): Promise<string> {
  await using postern = claudeAgent(runtime, { runId: "run-42" });
  const more = resume === undefined ? {} : { resume, forkSession: true };
  const options = { ...postern.options, ...more, cwd: home, env, model: "claude-sonnet-4-5" };
  let session = "";
  for await (const message of query({ prompt: "Tell Ada hello.", options })) {
    const result = message.type === "user" ? message.tool_use_result : undefined;
    if (typeof result === "object") console.log(result);
    if (message.type === "result") session = message.session_id;
  }
  return session;
}

const session = await run(); // nothing runs: the query ends, because a person must decide

// In production a person does this in the console, on the command line or in Slack.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

await run(session);
await run(session); // the model reads that it has run already
server.close();
