/**
 * OpenAI Agents (package `@openai/agents`): Postern's tools for an `Agent`, and the gate around tools you have.
 * The types are those of the library, written here so that the package itself is not needed.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { defined } from "../core/defined.ts";
import type { ContentBlock } from "../core/outcome.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { AgentContext, AgentTool, AgentTools, ToolUse } from "./agent-tools.ts";
import {
  type LibraryTools,
  offerToLibrary,
  registerLibraryTools,
  requestIfNeeded,
  type ToolStatements,
  textOrParts,
} from "./library-tools.ts";

/** A function tool in the form of `new Agent({ tools })`. */
export interface OpenAiAgentsTool {
  type: "function";
  name: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: the library's own schema type is not public
  parameters: any;
  strict: boolean;
  deferLoading: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: the library's run context is the user's own type
  invoke(runContext: any, input: string, details?: OpenAiCallDetails): Promise<string | OpenAiAgentsOutput[]>;
  needsApproval(runContext: unknown, input: unknown, callId?: string): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

export interface OpenAiCallDetails {
  readonly toolCall?: { readonly callId: string };
  readonly signal?: AbortSignal;
}

/** Part of a result that holds media. */
export type OpenAiAgentsOutput =
  | { type: "text"; text: string }
  | { type: "image"; image: { data: string; mediaType: string } }
  | { type: "file"; file: { data: string; mediaType: string; filename: string } };

/**
 * Offers the runtime's tools to an `Agent` of OpenAI Agents.
 *
 * A call that needs approval becomes an interruption of the run. `state.approve` lets the run continue and decides nothing:
 * a person decides in Postern, and the call then runs once, however often the state is resumed.
 *
 * @example
 * await using postern = openaiAgentsTools(runtime, { principal, runId });
 * const agent = new Agent({ name: "assistant", instructions, tools: postern.tools });
 *
 * @public
 */
export function openaiAgentsTools(runtime: Runtime, context: AgentContext = {}): LibraryTools<OpenAiAgentsTool[]> {
  return offerToLibrary(runtime, context, functionTool);
}

/** The run context of the present call. A wrapped tool gets it back. */
const runContexts = new AsyncLocalStorage<unknown>();

function functionTool({ name, description, parameters, offer }: AgentTool, agentTools: AgentTools): OpenAiAgentsTool {
  const useOf = (input: unknown, id: string | undefined): ToolUse => defined({ name, arguments: input, id });
  return {
    type: "function",
    name,
    description,
    parameters: structuredClone(parameters),
    strict: false, // the gate validates
    deferLoading: false,
    isEnabled: async () => agentTools.find(name)?.offer.definition === offer.definition,
    needsApproval: async (_runContext, input, callId) =>
      (await requestIfNeeded(useOf(input, callId), agentTools)) !== undefined,
    invoke: async (runContext, input, details) => {
      const use = useOf(input, details?.toolCall?.callId);
      const signal = defined({ signal: details?.signal });
      // Failures and refusals are text for the model, as the library's own are.
      return textOrParts(await runContexts.run(runContext, () => agentTools.call(use, signal)), partOf);
    },
  };
}

function partOf(block: ContentBlock): OpenAiAgentsOutput | undefined {
  if (block.type === "text") return { type: "text", text: block.text };
  if ((block.type !== "image" && block.type !== "file") || block.data === undefined) return undefined;
  const { data, mediaType, name = "file" } = block;
  return block.type === "image"
    ? { type: "image", image: { data, mediaType } }
    : { type: "file", file: { data, mediaType, filename: name } };
}

/** A tool of the library's `tool()`, as far as it is used here. */
export interface LibraryFunctionTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
  // biome-ignore lint/suspicious/noExplicitAny: the library's run context is the user's own type
  invoke(runContext: any, input: string, details?: any): Promise<unknown>;
}

/**
 * Puts function tools and agents as tools that you already have behind the gate. Do it once, at start.
 *
 * A tool's own `errorFunction` turns its failures into text. Set it to `null` so that they are recorded as failures.
 *
 * @throws RuntimeFault `tool_incomplete` for a tool whose risk is not stated
 *
 * @public
 */
export function wrapOpenaiAgentsTools(
  runtime: Runtime,
  tools: readonly LibraryFunctionTool[],
  statements: ToolStatements,
): void {
  const read = tools.map((tool) => ({
    ...{ original: tool, name: tool.name, description: tool.description, input: tool.parameters },
    execute: (input: unknown, { signal }: ToolContext) =>
      tool.invoke(runContexts.getStore(), JSON.stringify(input), { signal }),
  }));
  registerLibraryTools(runtime, read, statements);
}
