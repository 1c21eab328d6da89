/**
 * Google's Agent Development Kit: Postern's tools for an `LlmAgent`, and the gate around tools you have. `FunctionTool` is
 * handed in, so that the package itself is not needed here.
 */
import { digestOf, type Json, type JsonObject } from "../core/json.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ToolContext } from "../tools/tool.ts";
import { type AgentContext, type AgentTools, openAgentTools, type ToolUse } from "./agent-tools.ts";
import { registerLibraryTools, type ToolStatements } from "./wrap.ts";

// biome-ignore lint/suspicious/noExplicitAny: the options depend on the kind of schema
type AdkToolClass<Tool> = new (options: any) => Tool;

/** What is used of the kit. */
export interface AdkParts<Tool> {
  /** `FunctionTool` of `@google/adk`. */
  readonly FunctionTool: AdkToolClass<Tool>;
}

/** What the kit calls a tool with, as far as it is read here. */
interface AdkContext {
  readonly functionCallId?: string;
  readonly abortSignal?: AbortSignal;
}

/** The tools of one agent in one run, for the kit. */
export interface AdkTools<Tool> extends AsyncDisposable {
  readonly tools: Tool[];
  readonly agentTools: AgentTools;
}

/**
 * Offers the runtime's tools to the kit.
 *
 * A call that needs approval requests the kit's own confirmation. Confirming it lets the agent go on and decides nothing: a
 * person decides in Postern, and the call then runs once.
 *
 * @example
 * await using postern = adkTools(runtime, { FunctionTool }, { principal, runId });
 * const agent = new LlmAgent({ name, model, instruction, tools: postern.tools });
 *
 * @public
 */
export function adkTools<Tool extends object>(
  runtime: Runtime,
  { FunctionTool }: AdkParts<Tool>,
  context: AgentContext = {},
): AdkTools<Tool> {
  const agentTools = openAgentTools(runtime, context);
  const local = agentTools.list().filter(({ offer }) => offer.kind === "local");
  const tools = local.map(({ name, description, parameters, offer }) => {
    const tool = new FunctionTool({
      ...{ name, description },
      requireConfirmation: async (input: unknown, call?: AdkContext) => {
        const use = useOf(name, input, call);
        if (!(await agentTools.needsApproval(use))) return false;
        // The kit asks again when it goes on, and refuses a confirmation that is not needed any more.
        if (await wasAsked(use, { runtime, runId: agentTools.session.runId, tool: offer.tool })) return true;
        return (await agentTools.requestApproval(use)) !== undefined;
      },
      execute: async (input: unknown, call?: AdkContext) => {
        const { isError, text, structured } = await agentTools.call(useOf(name, input, call));
        return isError ? { error: text } : (structured ?? { output: text });
      },
    });
    // The kit converts zod schemas alone; a JSON Schema is declared as it is.
    const declaration = { name, description, parametersJsonSchema: structuredClone(parameters) };
    return Object.assign(tool, { _getDeclaration: () => declaration });
  });
  return { agentTools, tools, [Symbol.asyncDispose]: () => agentTools[Symbol.asyncDispose]() };
}

/** Whether Postern has a request for this call, whatever became of it. */
async function wasAsked(
  use: ToolUse,
  { runtime, runId, tool }: { readonly runtime: Runtime; readonly runId: string; readonly tool: string },
): Promise<boolean> {
  const digest = digestOf(use.arguments as Json); // the model's arguments, as the kit read them
  return (await runtime.approvals.list({ runId, tool })).some(({ asked }) => digestOf(asked) === digest);
}

function useOf(name: string, input: unknown, call: AdkContext | undefined): ToolUse {
  const id = call?.functionCallId;
  return { name, arguments: input ?? {}, ...(id !== undefined && { id }) };
}

/** What is read of a tool that you have. */
export interface AdkTool {
  readonly name: string;
  readonly description: string;
  _getDeclaration(): { readonly parameters?: unknown; readonly parametersJsonSchema?: unknown } | undefined;
  runAsync(request: never): Promise<unknown>;
}

/**
 * Puts tools that you already have behind the gate. Do it once, at start. Their own confirmation is replaced by Postern's.
 *
 * @throws RuntimeFault `tool_incomplete` for a tool whose risk is not stated
 *
 * @public
 */
export function wrapAdkTools(runtime: Runtime, tools: readonly AdkTool[], statements: ToolStatements): void {
  const read = tools.map((tool) => ({
    ...{ original: tool, name: tool.name, description: tool.description, input: schemaOf(tool) },
    execute: (args: unknown, { signal }: ToolContext) =>
      tool.runAsync({ args, toolContext: { abortSignal: signal } } as never),
  }));
  registerLibraryTools(runtime, read, statements);
}

/** Gemini's own form of a schema names types in capitals. */
function schemaOf(tool: AdkTool): JsonObject {
  const { parametersJsonSchema, parameters } = tool._getDeclaration() ?? {};
  const schema = parametersJsonSchema ?? parameters ?? { type: "object" };
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "type" && typeof value === "string" ? value.toLowerCase() : value,
  ) as JsonObject; // an object, as the kit made it
}
