/**
 * Strands Agents: Postern's tools for an `Agent`, and the gate around tools you have. The caller passes `tool` in, so
 * that the package itself is not needed here.
 */
import type { Runtime } from "../runtime/api.ts";
import type { AgentContext } from "./agent-tools.ts";
import {
  type LibraryTools,
  offerToLibrary,
  registerLibraryTools,
  resultOf,
  type ToolStatements,
} from "./library-tools.ts";

/** The parts of Strands that are used. */
export interface StrandsParts<Tool> {
  /** `tool` of `@strands-agents/sdk`. */
  // biome-ignore lint/suspicious/noExplicitAny: its overloads take every kind of schema
  readonly tool: (config: any) => Tool;
}

/** The context that Strands calls a tool with, as far as it is used here. */
interface StrandsContext {
  readonly toolUse: { readonly toolUseId: string };
  interrupt(params: { readonly name: string; readonly reason: object }): unknown;
}

/**
 * Offers the runtime's tools to Strands.
 *
 * A call that needs approval raises an interrupt whose reason names Postern's request. Answering the interrupt lets the agent
 * continue and decides nothing: a person decides in Postern, and the call then runs once.
 *
 * @example
 * await using postern = strandsTools(runtime, { tool }, { principal, runId });
 * const agent = new Agent({ model, tools: postern.tools });
 *
 * @public
 */
export function strandsTools<Tool>(
  runtime: Runtime,
  { tool }: StrandsParts<Tool>,
  context: AgentContext = {},
): LibraryTools<Tool[]> {
  return offerToLibrary(runtime, context, ({ name, description, parameters }, agentTools) =>
    tool({
      ...{ name, description, inputSchema: structuredClone(parameters) },
      callback: async (input: unknown, call: StrandsContext) => {
        const use = { id: call.toolUse.toolUseId, name, arguments: input };
        const answer = await agentTools.call(use);
        const { outcome } = answer;
        if (outcome.status !== "pending") return resultOf(answer);
        call.interrupt({ name: outcome.approvalId, reason: { tool: name, approval_id: outcome.approvalId } }); // throws the first time
        return resultOf(await agentTools.call(use));
      },
    }),
  );
}

/** A tool of `tool()`, as far as it is used here. */
export interface StrandsTool {
  readonly name: string;
  readonly description: string;
  readonly toolSpec: { readonly inputSchema?: unknown };
  invoke(input: never): unknown;
}

/**
 * Puts tools that you already have behind the gate. Do it once, at start.
 *
 * @throws RuntimeFault `tool_incomplete` for a tool whose risk is not stated
 *
 * @public
 */
export function wrapStrandsTools(runtime: Runtime, tools: readonly StrandsTool[], statements: ToolStatements): void {
  const read = tools.map((tool) => ({
    ...{ original: tool, name: tool.name, description: tool.description, input: tool.toolSpec.inputSchema },
    execute: (input: unknown) => tool.invoke(input as never),
  }));
  registerLibraryTools(runtime, read, statements);
}
