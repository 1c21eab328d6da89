/**
 * Mastra: Postern's tools for an `Agent`, and the gate around tools you have. The caller passes `createTool` in, so
 * that the package itself is not needed here.
 */
import { defined } from "../core/defined.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { AgentContext, ToolUse } from "./agent-tools.ts";
import {
  anySchema,
  type LibraryTools,
  offerToLibrary,
  registerLibraryTools,
  requestIfNeeded,
  resultOf,
  type ToolStatements,
} from "./library-tools.ts";

/** The parts of Mastra that are used. */
export interface MastraParts<Tool> {
  /** `createTool` of `@mastra/core/tools`. */
  // biome-ignore lint/suspicious/noExplicitAny: it takes every kind of schema
  readonly createTool: (options: any) => Tool;
}

/** The context that Mastra calls a tool with, as far as it is used here. */
interface MastraContext {
  readonly abortSignal?: AbortSignal;
  readonly agent?: { readonly toolCallId?: string };
  readonly toolCallId?: string;
}

/**
 * Offers the runtime's tools to Mastra.
 *
 * A call that needs approval suspends the run as Mastra's own `requireApproval` does. `approveToolCall` lets the run continue
 * and decides nothing: a person decides in Postern, and the call then runs once, however often it is approved.
 *
 * @example
 * await using postern = mastraTools(runtime, { createTool }, { principal, runId });
 * const agent = new Agent({ id, name, instructions, model, tools: postern.tools });
 *
 * @public
 */
export function mastraTools<Tool>(
  runtime: Runtime,
  { createTool }: MastraParts<Tool>,
  context: AgentContext = {},
): LibraryTools<Record<string, Tool>> {
  const offered = offerToLibrary(runtime, context, ({ name, description, parameters }, agentTools): [string, Tool] => {
    const useOf = (input: unknown, call?: MastraContext): ToolUse =>
      defined({ name, arguments: input, id: call?.agent?.toolCallId ?? call?.toolCallId });
    const tool = createTool({
      ...{ id: name, description, inputSchema: anySchema(parameters) },
      requireApproval: async (input: unknown, call?: MastraContext) =>
        (await requestIfNeeded(useOf(input, call), agentTools)) !== undefined,
      execute: async (input: unknown, call?: MastraContext) =>
        resultOf(await agentTools.call(useOf(input, call), defined({ signal: call?.abortSignal }))),
    });
    return [name, tool];
  });
  return { ...offered, tools: Object.fromEntries(offered.tools) };
}

/** A tool of `createTool`, as far as it is used here. */
export interface MastraTool {
  readonly id: string;
  readonly description: string;
  readonly inputSchema?: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the context is Mastra's own
  execute?: ((input: any, context: any) => unknown) | undefined;
}

/**
 * Puts tools that you already have behind the gate. Do it once, at start.
 *
 * @throws RuntimeFault `tool_incomplete` for a tool whose risk is not stated
 *
 * @public
 */
export function wrapMastraTools(
  runtime: Runtime,
  tools: Readonly<Record<string, MastraTool>>,
  statements: ToolStatements,
): void {
  const read = Object.entries(tools).map(([name, tool]) => ({
    ...{ original: tool, name, description: tool.description, input: tool.inputSchema },
    execute: (input: unknown, { signal }: ToolContext) => tool.execute?.(input, { abortSignal: signal }),
  }));
  registerLibraryTools(runtime, read, statements);
}
