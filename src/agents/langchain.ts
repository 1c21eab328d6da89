/**
 * LangChain and LangGraph: Postern's tools for agents and tool nodes, and the gate around tools you have. The caller
 * passes the library's own functions in, so that its packages are not needed here.
 */
import { defined } from "../core/defined.ts";
import type { ContentBlock } from "../core/outcome.ts";
import type { Runtime } from "../runtime/api.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { AgentContext, RenderedToolAnswer } from "./agent-tools.ts";
import {
  type LibraryTools,
  offerToLibrary,
  registerLibraryTools,
  type ToolStatements,
  textOrParts,
} from "./library-tools.ts";

/** A part of a tool message. */
export type LangChainContent = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

/** The argument with which the library calls a tool's function, as far as it is used here. */
export interface LangChainCallConfig {
  readonly toolCall?: { readonly id?: string };
  readonly signal?: AbortSignal;
}

/** The parts of the library that are used. */
export interface LangChainParts<Tool> {
  /** `tool` of `@langchain/core/tools`. */
  // biome-ignore lint/suspicious/noExplicitAny: its overloads take every kind of schema and function
  readonly tool: (run: any, fields: any) => Tool;
  /**
   * `interrupt` of `@langchain/langgraph`: a call that needs approval pauses the graph, and resuming it runs the call
   * once if a person has approved it in Postern. It needs a checkpointer. Without it, the model reads that a person
   * must decide.
   */
  readonly interrupt?: (value: unknown) => unknown;
}

/** The value of the interrupt that a paused graph shows. */
export interface LangChainInterrupt {
  readonly approval_id: string;
  readonly tool: string;
  readonly arguments: unknown;
  readonly expires_at: string;
}

/**
 * Offers the runtime's tools to LangChain.
 *
 * @example
 * import { tool } from "@langchain/core/tools";
 * await using postern = langchainTools(runtime, { tool }, { principal, runId: threadId });
 * const agent = createAgent({ model, tools: postern.tools });
 *
 * @public
 */
export function langchainTools<Tool>(
  runtime: Runtime,
  { tool, interrupt }: LangChainParts<Tool>,
  context: AgentContext = {},
): LibraryTools<Tool[]> {
  return offerToLibrary(runtime, context, ({ name, description, parameters }, agentTools) => {
    const run = async (
      input: never,
      { toolCall, signal }: LangChainCallConfig,
    ): Promise<string | LangChainContent[]> => {
      const call = () => agentTools.call(defined({ name, arguments: input, id: toolCall?.id }), defined({ signal }));
      const answer = await call();
      const { outcome } = answer;
      if (interrupt === undefined || outcome.status !== "pending") return contentOf(answer);
      const { approvalId: approval_id, expiresAt } = outcome;
      const expires_at = new Date(expiresAt).toISOString();
      const value: LangChainInterrupt = { approval_id, tool: name, arguments: input, expires_at };
      interrupt(value); // throws the first time; when the graph is resumed it returns, and the call is sent again
      return contentOf(await call());
    };
    return tool(run, { name, description, schema: structuredClone(parameters) });
  });
}

function contentOf(answer: RenderedToolAnswer): string | LangChainContent[] {
  return answer.isError ? answer.text : textOrParts(answer, partOf);
}

function partOf(block: ContentBlock): LangChainContent | undefined {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type !== "image" || block.data === undefined) return undefined;
  return { type: "image_url", image_url: { url: `data:${block.mediaType};base64,${block.data}` } };
}

/** The members that are used of a tool that you have. */
export interface LangChainTool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  invoke(input: never, config?: object): Promise<unknown>;
}

/**
 * Puts tools that you already have behind the gate. Do it once, at start; `langchainTools` then offers them.
 *
 * @throws RuntimeFault `tool_incomplete` for a tool whose risk is not stated
 *
 * @public
 */
export function wrapLangchainTools(
  runtime: Runtime,
  tools: readonly LangChainTool[],
  statements: ToolStatements,
): void {
  const read = tools.map((tool) => ({
    ...{ original: tool, name: tool.name, description: tool.description, input: tool.schema },
    execute: (input: unknown, { signal }: ToolContext) => tool.invoke(input as never, { signal }),
  }));
  registerLibraryTools(runtime, read, statements);
}
