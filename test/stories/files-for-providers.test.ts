/** What a model reads of a result that holds files, in a loop of one's own. */
import { expect, it } from "vitest";
import { type AnthropicContent, anthropicResult } from "../../packages/agents/src/anthropic.ts";
import { googleResult } from "../../packages/agents/src/google.ts";
import { openAgentTools, type RenderedToolAnswer } from "../../packages/agents/src/index.ts";
import { openaiChatResult, openaiResult } from "../../packages/agents/src/openai.ts";
import type { Approver } from "../../packages/postern/src/approvals/approver.ts";
import { createRuntime, defineTool, type Json } from "../../packages/postern/src/index.ts";

const csv = Buffer.from("id,total\n1,20\n").toString("base64");
const sound = Buffer.alloc(20_000, "sound").toString("base64");
const results: Readonly<Record<string, { readonly content: Json[]; readonly structured?: Json }>> = {
  file: { content: [{ type: "file", mediaType: "text/csv", name: "orders.csv", data: csv }] },
  audio: { content: [{ type: "audio", mediaType: "audio/wav", name: "call.wav", data: sound }] },
  resource: { content: [{ type: "resource", uri: "orders://all", mediaType: "application/zip", data: csv }] },
  "a file beside rows": {
    content: [{ type: "file", mediaType: "text/csv", name: "orders.csv", data: sound }],
    structured: { rows: 1 },
  },
};
const use = { id: "c1", name: "orders", item: { type: "function_call", id: "c1" } };

async function answerWith(result: object, notes: boolean): Promise<RenderedToolAnswer> {
  const orders = defineTool({
    ...{ name: "orders", description: "Lists orders.", risk: "high", effects: "read", idempotent: true },
    execute: () => result,
  });
  const approver: Approver = {
    name: "ada",
    ask: async () => ({ decision: "approved", ...(notes && { reason: "only today" }) }),
  };
  await using runtime = await createRuntime({ tools: [orders], approvals: { approver, patience: "wait" } });
  await using tools = openAgentTools(runtime, { runId: "run-1" });
  return await tools.call(use);
}

/** All texts that each provider's model reads, and how many blocks of bytes it gets. */
function readBy(answer: RenderedToolAnswer): Readonly<Record<string, string>> {
  return {
    openai: JSON.stringify(openaiResult(use, answer)),
    "openai chat": openaiChatResult(use, answer).content,
    anthropic: JSON.stringify(anthropicResult(use, answer).content as string | AnthropicContent[]),
    google: JSON.stringify(googleResult(use, answer)),
  };
}

it.each(Object.keys(results))("tells every provider's model of a result with %s", async (name) => {
  const answer = await answerWith(results[name] ?? {}, false);
  for (const [provider, read] of Object.entries(readBy(answer))) {
    const isWhole = read.includes(csv) || read.includes(sound);
    if (!isWhole) expect(`${provider} reads ${read}`).toMatch(/orders\.csv|call\.wav|orders:\/\/all/);
    expect(read).not.toMatch(/"(output|content)":""/);
  }
});

it("puts notes before the result of every provider, also before a provider's own item", async () => {
  const plain = await answerWith({ content: [], structured: { rows: 1 } }, true);
  for (const read of Object.values(readBy(plain))) expect(read).toContain("Reason: only today.");
  const output = [{ stdout: "done", stderr: "", outcome: { type: "exit", exit_code: 0 } }];
  const shell = await answerWith({ content: [], structured: { type: "shell_call_output", output } }, true);
  const own = openaiResult({ ...use, item: { type: "shell_call" } }, shell);
  expect(own).toMatchObject([
    { type: "shell_call_output", output },
    { content: expect.stringContaining("only today") },
  ]);
  const response = { url: "https://example.org" };
  const page = await answerWith({ content: [], structured: { type: "function_response", response } }, true);
  expect(googleResult(use, page).response).toMatchObject({
    ...response,
    notes: [expect.stringContaining("only today")],
  });
});
