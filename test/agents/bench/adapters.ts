/** One call as each library makes it, of a tool that does nothing: with Postern, and with the library alone. */
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { FunctionTool } from "@google/adk";
import { tool as langchainTool } from "@langchain/core/tools";
import { createTool } from "@mastra/core/tools";
import { tool as openaiAgentsTool, RunContext } from "@openai/agents";
import { tool as strandsTool } from "@strands-agents/sdk";
import { tool as aiTool, jsonSchema } from "ai";
import type { AdapterRow, Call } from "../../../bench/agent-libraries.ts";
import { adkTools } from "../../../packages/agents/src/adk.ts";
import {
  type AgentTools,
  openAgentTools,
  type RenderedToolAnswer,
  type ToolUse,
} from "../../../packages/agents/src/agent-tools.ts";
import { aiSdkTools } from "../../../packages/agents/src/ai-sdk.ts";
import { anthropicResult, anthropicToolUses } from "../../../packages/agents/src/anthropic.ts";
import { anthropicRunnerTools } from "../../../packages/agents/src/anthropic-runner.ts";
import { googleResult, googleToolUses } from "../../../packages/agents/src/google.ts";
import { guard } from "../../../packages/agents/src/guard.ts";
import { langchainTools } from "../../../packages/agents/src/langchain.ts";
import { anySchema } from "../../../packages/agents/src/library-tools.ts";
import { mastraTools } from "../../../packages/agents/src/mastra.ts";
import {
  openaiChatResult,
  openaiChatToolUses,
  openaiResult,
  openaiToolUses,
} from "../../../packages/agents/src/openai.ts";
import { openaiAgentsTools } from "../../../packages/agents/src/openai-agents.ts";
import { strandsTools } from "../../../packages/agents/src/strands.ts";
import type { RuntimeSession } from "../../../packages/postern/src/runtime/api/api.ts";
import type { LocalTool } from "../../../packages/postern/src/tools/kinds.ts";

const parameters = {
  type: "object" as const,
  properties: { a: { type: "number" as const }, b: { type: "number" as const } },
  required: ["a", "b"] as ("a" | "b")[],
  additionalProperties: false as const,
};
const described = { name: "add", description: "Adds two numbers." };

interface Numbers {
  readonly a: number;
  readonly b: number;
}

const sum = async (input: unknown): Promise<string> => `${(input as Numbers).a + (input as Numbers).b}`;

/** What every row calls. */
export const addTool: LocalTool = {
  ...described,
  ...{ risk: "safe", effects: "read", idempotent: true, concurrencySafe: true, inputSchema: parameters },
  execute: sum,
};

const context = { principal: { tenant: "default", agent: "bench" } };
const input = (i: number): Numbers => ({ a: i, b: 1 });
const idOf = (i: number): string => `call_${i}`;
const never = new AbortController().signal;

/** The adapter's own session, with ids that its own calls do not use. */
function bareOf(session: RuntimeSession): Call {
  return (i) => session.invoke({ tool: "add", arguments: { a: i, b: 1 } }, { toolCallId: `bare_${i}` });
}

function only<Tool>(tools: readonly Tool[]): Tool {
  const [tool] = tools;
  if (tool === undefined) throw new Error("The adapter offers no tool.");
  return tool;
}

const aiSdk: AdapterRow = {
  id: "ai-sdk",
  what: "`toolApproval`, `execute`, `toModelOutput`",
  open: (runtime) => {
    const { agentTools, settings } = aiSdkTools(runtime, context);
    const { toolApproval, tools } = settings;
    const own = aiTool({ description: described.description, inputSchema: jsonSchema(parameters), execute: sum });
    const gated = only(Object.values(tools));
    return {
      bare: bareOf(agentTools.session),
      alone: (i) => own.execute?.(input(i), { toolCallId: idOf(i), messages: [], abortSignal: never, context: {} }),
      withPostern: async (i) => {
        const toolCallId = idOf(i);
        await toolApproval({ toolCall: { toolCallId, toolName: "add", input: input(i) }, messages: [] });
        const output = await gated.execute(input(i), { toolCallId, messages: [], abortSignal: never });
        return gated.toModelOutput({ output });
      },
    };
  },
};

const openaiAgents: AdapterRow = {
  id: "openai-agents",
  what: "`needsApproval`, `invoke`",
  open: (runtime) => {
    const { agentTools, tools } = openaiAgentsTools(runtime, context);
    const runContext = new RunContext();
    const own = openaiAgentsTool({ ...described, parameters, strict: true, execute: sum });
    const call = (i: number) => ({ type: "function_call" as const, callId: idOf(i), name: "add", arguments: "" });
    const gated = only(tools);
    return {
      bare: bareOf(agentTools.session),
      alone: async (i) => {
        await own.needsApproval(runContext, input(i), idOf(i));
        return own.invoke(runContext, JSON.stringify(input(i)), { toolCall: call(i), signal: never });
      },
      withPostern: async (i) => {
        await gated.needsApproval(runContext, input(i), idOf(i));
        return gated.invoke(runContext, JSON.stringify(input(i)), { toolCall: call(i), signal: never });
      },
    };
  },
};

const langchain: AdapterRow = {
  id: "langchain",
  what: "`tool.invoke` of a tool call",
  open: (runtime) => {
    const { agentTools, tools } = langchainTools(runtime, { tool: langchainTool }, context);
    const own = langchainTool(sum, { ...described, schema: structuredClone(parameters) });
    const gated = only(tools) as typeof own; // the same function made both
    const call = (i: number) => ({ type: "tool_call" as const, id: idOf(i), name: "add", args: input(i) });
    return {
      bare: bareOf(agentTools.session),
      alone: (i) => own.invoke(call(i)),
      withPostern: (i) => gated.invoke(call(i)),
    };
  },
};

const mastra: AdapterRow = {
  id: "mastra",
  what: "`requireApproval`, `execute`",
  open: (runtime) => {
    const { agentTools, tools } = mastraTools(runtime, { createTool: (options) => createTool(options) }, context);
    const own = createTool({ id: "add", ...described, inputSchema: anySchema(parameters), execute: sum });
    const gated = only(Object.values(tools));
    const around = (i: number) => ({ abortSignal: never, agent: { toolCallId: idOf(i), messages: [] } }) as never; // what an agent's run passes
    return {
      bare: bareOf(agentTools.session),
      alone: (i) => own.execute?.(input(i) as never, around(i)),
      withPostern: async (i) => {
        const { requireApproval } = gated as { requireApproval?: unknown };
        if (typeof requireApproval === "function") await requireApproval(input(i), around(i));
        return gated.execute?.(input(i) as never, around(i));
      },
    };
  },
};

const anthropicRunner: AdapterRow = {
  id: "anthropic-runner",
  what: "`parse`, `run`",
  open: (runtime) => {
    const { agentTools, tools } = anthropicRunnerTools(runtime, context);
    const own = betaTool({ ...described, inputSchema: parameters, run: sum });
    const gated = only(tools);
    const use = (i: number) => ({ type: "tool_use" as const, id: idOf(i), name: "add", input: input(i) }) as never; // the runner's own block
    return {
      bare: bareOf(agentTools.session),
      alone: (i) => own.run(own.parse(input(i)), { toolUse: use(i), toolUseBlock: use(i), signal: never }),
      withPostern: (i) => gated.run(gated.parse(input(i)), { toolUse: use(i), signal: never }),
    };
  },
};

const strands: AdapterRow = {
  id: "strands",
  what: "`tool.stream` to its result",
  open: (runtime) => {
    const { agentTools, tools } = strandsTools(runtime, { tool: strandsTool }, context);
    const own = strandsTool({ ...described, inputSchema: structuredClone(parameters), callback: sum });
    const gated = only(tools);
    const run = async (tool: typeof own, i: number): Promise<unknown> => {
      const toolUse = { toolUseId: idOf(i), name: "add", input: input(i) };
      const stream = tool.stream({ toolUse, interrupt: () => undefined } as never); // no agent is needed for a tool that asks nobody
      for (;;) {
        const { done, value } = await stream.next();
        if (done === true) return value;
      }
    };
    return { bare: bareOf(agentTools.session), alone: (i) => run(own, i), withPostern: (i) => run(gated, i) };
  },
};

const adk: AdapterRow = {
  id: "adk",
  what: "`tool.runAsync`",
  open: (runtime) => {
    const { agentTools, tools } = adkTools(runtime, { FunctionTool }, context);
    const own = new FunctionTool({ ...described, execute: sum });
    const gated = only(tools);
    // The parts of a context that tools read, with the event that holds the call.
    const request = (i: number) => {
      const functionCall = { id: idOf(i), name: "add", args: input(i) };
      const events = [{ id: "turn", content: { parts: [{ functionCall }] } }];
      const invocationContext = { session: { events } };
      return {
        args: input(i),
        toolContext: { functionCallId: functionCall.id, abortSignal: never, invocationContext },
      };
    };
    return {
      bare: bareOf(agentTools.session),
      alone: (i) => own.runAsync(request(i) as never),
      withPostern: (i) => gated.runAsync(request(i) as never),
    };
  },
};

const plainFunction: AdapterRow = {
  id: "guard",
  what: "the guarded function; beside it `runtime.invoke`, which opens a session a call",
  open: (runtime) => {
    const definition = { name: "guarded_add", description: "Adds.", input: parameters, idempotent: true };
    const guarded = guard(runtime, { ...definition, risk: "safe", effects: "read" }, sum);
    return {
      bare: (i) => runtime.invoke({ tool: "add", arguments: { a: i, b: 1 } }, context),
      alone: (i) => sum(input(i)),
      withPostern: (i) => guarded({ ...input(i) }, context),
    };
  },
};

/** A loop of one's own: a call as the provider's API gives it, run, and answered in the provider's form. */
function encoder(
  id: string,
  read: (i: number) => readonly ToolUse[],
  result: (use: ToolUse, answer: RenderedToolAnswer) => unknown,
): AdapterRow {
  return {
    id,
    what: "read the call, run it, make the result item",
    open: (runtime) => {
      const agentTools: AgentTools = openAgentTools(runtime, context);
      return {
        bare: bareOf(agentTools.session),
        withPostern: async (i) => {
          const uses = read(i);
          const answers = await agentTools.callAll(uses);
          return uses.map((use, at) => result(use, answers[at] as RenderedToolAnswer)); // an answer a use
        },
      };
    },
  };
}

const text = (i: number): string => `{"a":${i},"b":1}`;

export const adapterRows: readonly AdapterRow[] = [
  aiSdk,
  openaiAgents,
  langchain,
  mastra,
  anthropicRunner,
  strands,
  adk,
  plainFunction,
  encoder(
    "openai",
    (i) => openaiToolUses([{ type: "function_call", call_id: idOf(i), name: "add", arguments: text(i) }]),
    openaiResult,
  ),
  encoder(
    "openai chat",
    (i) =>
      openaiChatToolUses({
        tool_calls: [{ id: idOf(i), type: "function", function: { name: "add", arguments: text(i) } }],
      }),
    openaiChatResult,
  ),
  encoder(
    "anthropic",
    (i) => anthropicToolUses([{ type: "tool_use", id: idOf(i), name: "add", input: input(i) }]),
    anthropicResult,
  ),
  encoder(
    "google",
    (i) => googleToolUses([{ functionCall: { id: idOf(i), name: "add", args: input(i) } }]),
    googleResult,
  ),
];
