/**
 * The tool runner of `@anthropic-ai/sdk`: Postern's tools for `client.beta.messages.toolRunner`, and the gate around runnable
 * tools you have. With `runToolsEagerly` the runner starts a tool while the message still streams: each start is a call
 * through every gate, so that an eager start runs nothing that a person must approve first.
 */
import { CallRefused } from "../core/call-refused.ts";
import type { JsonObject } from "../core/json.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ToolContext } from "../tools/tool.ts";
import { type AgentContext, type AgentTools, openAgentTools } from "./agent-tools.ts";
import { type AnthropicContent, anthropicContent } from "./anthropic.ts";
import { type LibraryTool, registerLibraryTools, type ToolStatements } from "./wrap.ts";

/** A runnable tool as `toolRunner({ tools })` takes it. */
export interface AnthropicRunnableTool {
  name: string;
  description: string;
  input_schema: { type: "object"; [keyword: string]: unknown };
  parse(content: unknown): unknown;
  run(input: unknown, context?: AnthropicRunContext): Promise<string | AnthropicContent[]>;
}

export interface AnthropicRunContext {
  readonly toolUse: { readonly id: string };
  readonly signal?: AbortSignal | null | undefined;
}

/** The tools of one agent in one run, for the tool runner. */
export interface AnthropicRunner extends AsyncDisposable {
  readonly tools: AnthropicRunnableTool[];
  readonly agentTools: AgentTools;
}

/**
 * Offers the runtime's tools to the tool runner. What was refused, failed or waits for a person is an error result whose
 * text tells the model what to do.
 *
 * @example
 * await using postern = anthropicRunnerTools(runtime, { principal, runId });
 * const message = await client.beta.messages.toolRunner({ model, max_tokens, messages, tools: postern.tools });
 *
 * @public
 */
export function anthropicRunnerTools(runtime: Runtime, context: AgentContext = {}): AnthropicRunner {
  const agentTools = openAgentTools(runtime, context);
  const local = agentTools.list().filter(({ offer }) => offer.kind === "local");
  const tools = local.map(({ name, description, parameters }) => ({
    ...{ name, description, input_schema: { ...parameters, type: "object" as const } },
    parse: (content: unknown) => content, // the gate validates
    run: async (input: unknown, run?: AnthropicRunContext) => {
      const use = { name, arguments: input, ...(run !== undefined && { id: run.toolUse.id }) };
      const answer = await agentTools.call(use, run?.signal ? { signal: run.signal } : {});
      if (answer.isError) throw new CallRefused(answer.outcome, answer.text);
      return anthropicContent(answer);
    },
  }));
  return { agentTools, tools, [Symbol.asyncDispose]: () => agentTools[Symbol.asyncDispose]() };
}

/** What `betaTool` and `betaZodTool` make, as far as it is read here. */
export interface AnthropicLibraryTool {
  readonly name: string;
  readonly description?: string;
  readonly input_schema?: object;
  parse(content: unknown): unknown;
  run(input: never, context?: never): unknown;
}

/**
 * Puts runnable tools that you already have behind the gate. Do it once, at start.
 *
 * @throws RuntimeFault `tool_incomplete` for a tool whose risk is not stated
 *
 * @public
 */
export function wrapAnthropicTools(
  runtime: Runtime,
  tools: readonly AnthropicLibraryTool[],
  statements: ToolStatements,
): void {
  registerLibraryTools(runtime, tools.map(libraryTool), statements);
}

function libraryTool(tool: AnthropicLibraryTool): LibraryTool {
  const { name, description = "", input_schema: schema = { type: "object" } } = tool;
  return {
    ...{ original: tool, name, description, input: schema as JsonObject }, // the SDK's own JSON Schema
    execute: (input: unknown, { callId, signal }: ToolContext) => {
      const toolUse = { type: "tool_use", id: callId, name, input };
      return tool.run(tool.parse(input) as never, { toolUse, toolUseBlock: toolUse, signal } as never);
    },
  };
}
