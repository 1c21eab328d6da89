/** A stand-in for Anthropic's server, and the SDK's program talking to it: offline, with a home of its own. */
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Options, query, type SDKMessage } from "@anthropic-ai/claude-agent-sdk";

/** One answer of the model: tool uses, or an end. */
export interface ClaudeTurn {
  readonly uses?: readonly { readonly id: string; readonly name: string; readonly input: object }[];
  readonly text?: string;
}

const platform = `${process.platform}-${process.arch}`;

/** Undefined when the SDK's program for this machine is not installed (`npm run test:agents -- --claude` installs it). */
export const claudeProgram: string | undefined = [
  join(import.meta.dirname, `node_modules/@anthropic-ai/claude-agent-sdk-${platform}/claude`),
].find((path) => existsSync(path));

export interface ClaudeStub extends AsyncDisposable {
  /** A folder of its own: where the program works, and keeps its sessions. */
  readonly home: string;
  /** The last message of each request for an answer. */
  readonly read: string[];
  run(options: Options): Promise<SDKMessage[]>;
}

/** The turn depends only on how many tool results there are, so that a resumed session goes on in the script. */
export async function claudeStub(turns: readonly ClaudeTurn[]): Promise<ClaudeStub> {
  const home = await mkdtemp(join(tmpdir(), "claude-"));
  const read: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await new Response(request as unknown as ReadableStream).text();
    const { messages = [] } = JSON.parse(body || "{}") as { messages?: { role: string }[] };
    read.push(JSON.stringify(messages.at(-1)));
    const answered = messages.filter((message) => JSON.stringify(message).includes('"tool_result"')).length;
    const { uses = [], text = "done" } = turns[answered] ?? {};
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of eventsOf(`msg_${answered + 1}`, uses, text))
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const env = {
    ...{ PATH: "/usr/bin:/bin", HOME: home, CLAUDE_CONFIG_DIR: join(home, "config"), ANTHROPIC_API_KEY: "none" },
    ...{ ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
    ...{ DISABLE_TELEMETRY: "1", DISABLE_ERROR_REPORTING: "1", DISABLE_AUTOUPDATER: "1" },
  };
  const own: Options = { cwd: home, env, settingSources: [], model: "claude-sonnet-4-5" };
  if (claudeProgram !== undefined) own.pathToClaudeCodeExecutable = claudeProgram;
  return {
    ...{ home, read },
    run: async (options) => {
      const messages: SDKMessage[] = [];
      for await (const message of query({ prompt: "go", options: { ...own, ...options } })) messages.push(message);
      return messages;
    },
    [Symbol.asyncDispose]: () => new Promise((closed) => void server.close(() => closed()).closeAllConnections()),
  };
}

interface StreamEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

function eventsOf(id: string, uses: NonNullable<ClaudeTurn["uses"]>, text: string): StreamEvent[] {
  const message = {
    ...{ id, type: "message", role: "assistant", model: "claude", content: [], stop_reason: null },
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const blocks =
    uses.length === 0
      ? [{ start: { type: "text", text: "" }, delta: { type: "text_delta", text } }]
      : uses.map(({ id, name, input }) => ({
          start: { type: "tool_use", id, name, input: {} },
          delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
        }));
  return [
    { type: "message_start", message },
    ...blocks.flatMap(({ start, delta }, index) => [
      { type: "content_block_start", index, content_block: start },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: uses.length === 0 ? "end_turn" : "tool_use" },
      usage: { output_tokens: 1 },
    },
    { type: "message_stop" },
  ];
}
