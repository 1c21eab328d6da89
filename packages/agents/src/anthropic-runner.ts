/**
 * The tool runner of `@anthropic-ai/sdk`: Postern's tools for `client.beta.messages.toolRunner`, and the gate around runnable
 * tools you have. With `runToolsEagerly` the runner starts a tool while the message still streams: each start is a call
 * through every gate, so that an eager start runs nothing that a person must approve first.
 */
import { defined } from "@postern/core";
import type { Runtime, ToolContext } from "postern";
import type { AgentContext } from "./agent-tools.ts";
import { type AnthropicContent, anthropicContent } from "./anthropic.ts";
import {
  type LibraryTools,
  offerToLibrary,
  registerLibraryTools,
  type ToolStatements,
  throwIfRefused,
} from "./library-tools.ts";

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

/**
 * Offers the runtime's tools to the tool runner. A call that is refused, fails or waits gives an error result whose
 * text tells the model what to do.
 *
 * @example
 * await using postern = anthropicRunnerTools(runtime, { principal, runId });
 * const message = await client.beta.messages.toolRunner({ model, max_tokens, messages, tools: postern.tools });
 *
 * @public
 */
export function anthropicRunnerTools(
  runtime: Runtime,
  context: AgentContext = {},
): LibraryTools<AnthropicRunnableTool[]> {
  return offerToLibrary(runtime, context, ({ name, description, parameters }, agentTools) => ({
    ...{ name, description, input_schema: { ...parameters, type: "object" as const } },
    parse: (content: unknown) => content, // the gate validates
    run: async (input: unknown, run?: AnthropicRunContext) => {
      const use = defined({ name, arguments: input, id: run?.toolUse.id });
      const answer = await agentTools.call(use, defined({ signal: run?.signal ?? undefined }));
      throwIfRefused(answer);
      return anthropicContent(answer);
    },
  }));
}

/** A tool of `betaTool` or `betaZodTool`, as far as it is used here. */
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
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
 *
 * @public
 */
export function wrapAnthropicTools(
  runtime: Runtime,
  tools: readonly AnthropicLibraryTool[],
  statements: ToolStatements,
): void {
  const read = tools.map((tool) => ({
    ...{ original: tool, name: tool.name, description: tool.description, input: tool.input_schema },
    execute: (input: unknown, { callId, signal }: ToolContext) => {
      const toolUse = { type: "tool_use", id: callId, name: tool.name, input };
      return tool.run(tool.parse(input) as never, { toolUse, toolUseBlock: toolUse, signal } as never);
    },
  }));
  registerLibraryTools(runtime, read, statements);
}
