/**
 * Google's Agent Development Kit: Postern's tools for an `LlmAgent`, and the gate around tools you have. The caller
 * passes `FunctionTool` in, so that the package itself is not needed here.
 */
import { defined } from "../core/defined.ts";
import { digestOf, type Json, type JsonObject } from "../core/json.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { AgentContext, ToolUse } from "./agent-tools.ts";
import { type LibraryTools, offerToLibrary, registerLibraryTools, type ToolStatements } from "./library-tools.ts";

// biome-ignore lint/suspicious/noExplicitAny: the options depend on the kind of schema
type AdkToolClass<Tool> = new (options: any) => Tool;

/** The parts of the kit that are used. */
export interface AdkParts<Tool> {
  /** `FunctionTool` of `@google/adk`. */
  readonly FunctionTool: AdkToolClass<Tool>;
}

/** The context that the kit calls a tool with, as far as it is used here. */
interface AdkContext {
  readonly functionCallId?: string;
}

/**
 * Offers the runtime's tools to the kit.
 *
 * A call that needs approval requests the kit's own confirmation. Confirming it lets the agent continue and decides nothing: a
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
): LibraryTools<Tool[]> {
  return offerToLibrary(runtime, context, ({ name, description, parameters, offer }, agentTools) => {
    const useOf = (input: unknown, call?: AdkContext): ToolUse =>
      defined({ name, arguments: input ?? {}, id: call?.functionCallId });
    const tool = new FunctionTool({
      ...{ name, description },
      requireConfirmation: async (input: unknown, call?: AdkContext) => {
        const use = useOf(input, call);
        if (!(await agentTools.needsApproval(use))) return false;
        // The kit asks again when it continues, and refuses a confirmation that is no longer needed.
        if (await wasRequested(use, { runtime, runId: agentTools.session.runId, tool: offer.tool })) return true;
        return (await agentTools.requestApproval(use)) !== undefined;
      },
      execute: async (input: unknown, call?: AdkContext) => {
        const { isError, text, structured } = await agentTools.call(useOf(input, call));
        return isError ? { error: text } : (structured ?? { output: text });
      },
    });
    // The kit converts only zod schemas; a JSON Schema is declared unchanged.
    const declaration = { name, description, parametersJsonSchema: structuredClone(parameters) };
    return Object.assign(tool, { _getDeclaration: () => declaration });
  });
}

/** Whether Postern has a request for this call, open or decided. */
async function wasRequested(
  use: ToolUse,
  { runtime, runId, tool }: { readonly runtime: Runtime; readonly runId: string; readonly tool: string },
): Promise<boolean> {
  const digest = digestOf(use.arguments as Json); // the model's arguments, as the kit read them
  return (await runtime.approvals.list({ runId, tool })).some(({ asked }) => digestOf(asked) === digest);
}

/** The members that are used of a tool that you have. */
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

/** Gemini's own form of a schema has type names in capitals. */
function schemaOf(tool: AdkTool): JsonObject {
  const { parametersJsonSchema, parameters } = tool._getDeclaration() ?? {};
  const schema = parametersJsonSchema ?? parameters ?? { type: "object" };
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "type" && typeof value === "string" ? value.toLowerCase() : value,
  ) as JsonObject; // an object, as the kit made it
}
