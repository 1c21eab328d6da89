/** Calls in the providers' own form, through the contract of adapters: what each provider's model reads of them. */
import type { JsonObject } from "@postern/core";
import { adapterContract } from "postern/testing";
import { oneSpanPerCall } from "../../../test/fakes/spans.ts";
import { openAgentTools, type RenderedToolAnswer, type ToolUse } from "./agent-tools.ts";
import { anthropicResult, anthropicToolUses } from "./anthropic.ts";
import { googleResult, googleToolUses } from "./google.ts";
import { openaiChatResult, openaiChatToolUses, openaiResult, openaiToolUses } from "./openai.ts";

interface Provider {
  readonly uses: (id: string, name: string, given: JsonObject, turn: string) => readonly ToolUse[];
  readonly result: (use: ToolUse, answer: RenderedToolAnswer) => unknown;
}

const providers: Readonly<Record<string, Provider>> = {
  "OpenAI Responses": {
    uses: (call_id, name, given, turn) =>
      openaiToolUses([{ type: "function_call", call_id, name, arguments: JSON.stringify(given) }], turn),
    result: openaiResult,
  },
  "OpenAI Chat Completions": {
    uses: (id, name, given, turn) => {
      const call = { id, type: "function" as const, function: { name, arguments: JSON.stringify(given) } };
      return openaiChatToolUses({ tool_calls: [call] }, turn);
    },
    result: openaiChatResult,
  },
  Anthropic: {
    uses: (id, name, input, turn) => anthropicToolUses([{ type: "tool_use", id, name, input }], turn),
    result: anthropicResult,
  },
  Google: {
    uses: (id, name, args, turn) => googleToolUses([{ functionCall: { id, name, args } }], turn),
    result: googleResult,
  },
};

const countCalls = oneSpanPerCall();
for (const [name, { uses, result }] of Object.entries(providers))
  adapterContract(name, (runtime) => {
    countCalls(runtime);
    const tools = openAgentTools(runtime, { runId: "run-1" });
    return {
      call: async ({ id, turn, name: tool, arguments: given }) => {
        const [use] = uses(id, tool, given, turn);
        if (use === undefined) throw new Error("The response holds no call.");
        return JSON.stringify(result(use, await tools.call(use)));
      },
    };
  });
