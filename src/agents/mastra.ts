/**
 * Mastra: Postern's tools for an `Agent`, and the gate around tools you have. `createTool` is handed in, so that the package
 * itself is not needed here.
 */
import { CallRefused } from "../core/call-refused.ts";
import type { JsonObject } from "../core/json.ts";
import type { Runtime } from "../runtime/api.ts";
import { isRecord } from "../tools/kinds.ts";
import type { ToolInput } from "../tools/schema/standard-schema.ts";
import type { ToolContext } from "../tools/tool.ts";
import { type AgentContext, type AgentTools, openAgentTools, type ToolUse } from "./agent-tools.ts";
import { anySchema } from "./schema.ts";
import { registerLibraryTools, type ToolStatements } from "./wrap.ts";

/** What is used of Mastra. */
export interface MastraParts<Tool> {
  /** `createTool` of `@mastra/core/tools`. */
  // biome-ignore lint/suspicious/noExplicitAny: it takes every kind of schema
  readonly createTool: (options: any) => Tool;
}

/** What Mastra calls a tool with, as far as it is read here. */
interface MastraContext {
  readonly abortSignal?: AbortSignal;
  readonly agent?: { readonly toolCallId?: string };
  readonly toolCallId?: string;
}

/** The tools of one agent in one run, for Mastra. */
export interface MastraTools<Tool> extends AsyncDisposable {
  readonly tools: Record<string, Tool>;
  readonly agentTools: AgentTools;
}

/**
 * Offers the runtime's tools to Mastra.
 *
 * A call that needs approval suspends the run as Mastra's own `requireApproval` does. `approveToolCall` lets the run go on and
 * decides nothing: a person decides in Postern, and the call then runs once, however often it is approved.
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
): MastraTools<Tool> {
  const agentTools = openAgentTools(runtime, context);
  const local = agentTools.list().filter(({ offer }) => offer.kind === "local");
  const made = local.map(({ name, description, parameters }): [string, Tool] => [
    name,
    createTool({
      ...{ id: name, description, inputSchema: anySchema(parameters) },
      requireApproval: async (input: unknown, call?: MastraContext) => {
        const use = useOf(name, input, call);
        return (await agentTools.needsApproval(use)) && (await agentTools.requestApproval(use)) !== undefined;
      },
      execute: async (input: unknown, call?: MastraContext) => {
        const signal = call?.abortSignal === undefined ? {} : { signal: call.abortSignal };
        const answer = await agentTools.call(useOf(name, input, call), signal);
        if (answer.isError) throw new CallRefused(answer.outcome, answer.text);
        return answer.structured ?? answer.text;
      },
    }),
  ]);
  return {
    agentTools,
    tools: Object.fromEntries(made),
    [Symbol.asyncDispose]: () => agentTools[Symbol.asyncDispose](),
  };
}

function useOf(name: string, input: unknown, call: MastraContext | undefined): ToolUse {
  const id = call?.agent?.toolCallId ?? call?.toolCallId;
  return { name, arguments: input, ...(id !== undefined && { id }) };
}

/** What `createTool` makes, as far as it is read here. */
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
    ...{ original: tool, name, description: tool.description, input: inputOf(tool.inputSchema) },
    execute: (input: unknown, { signal }: ToolContext) => tool.execute?.(input, { abortSignal: signal }),
  }));
  registerLibraryTools(runtime, read, statements);
}

function inputOf(schema: unknown): ToolInput {
  return isRecord(schema) && "~standard" in schema
    ? (schema as ToolInput)
    : ((schema ?? { type: "object" }) as JsonObject);
}
