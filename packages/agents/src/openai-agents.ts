/**
 * OpenAI Agents (package `@openai/agents`): Postern's tools for an `Agent`, and the gate around tools you have.
 * The types are those of the library, written here so that the package itself is not needed.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type ContentBlock, defined, modelCallsOf } from "@postern/core";
import type { Runtime, ToolContext } from "postern";
import { openRequestOf } from "postern/results";
import type { AgentContext, AgentTool, AgentTools, ToolUse } from "./agent-tools.ts";
import {
  type LibraryTools,
  offerToLibrary,
  refusalOf,
  registerLibraryTools,
  stillWaits,
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
  // biome-ignore lint/suspicious/noExplicitAny: the library's run context is the user's own type
  needsApproval(runContext: any, input: unknown, callId?: string): Promise<boolean>;
  // biome-ignore lint/suspicious/noExplicitAny: the library's run context is the user's own type
  isEnabled(runContext: any): Promise<boolean>;
}

/** The library's usage of a run. A stored state restores it. */
interface Usage {
  readonly requests: number;
  readonly totalTokens: number;
}

/** The library's run context, as far as it is used here. */
interface RunContext {
  readonly usage: Usage;
  isToolApproved(call: { readonly toolName: string; readonly callId: string }): boolean | undefined;
}

/** A `RunState` of the library, as far as it is used here. */
export interface OpenAiRunState<Interruption extends OpenAiInterruption> {
  readonly usage: Usage;
  getInterruptions(): readonly Interruption[];
  approve(interruption: Interruption): void;
  reject(interruption: Interruption, options: { readonly message: string }): void;
}

export interface OpenAiInterruption {
  readonly name?: string | undefined;
  readonly arguments?: string | undefined;
  readonly rawItem: object;
}

/** The tools of one agent in one run, for OpenAI Agents. */
export interface OpenAiAgentsTools extends LibraryTools<OpenAiAgentsTool[]> {
  /**
   * Approves and rejects the interruptions of Postern's tools that a person has decided in Postern. The others stay open.
   * Resolves to true when one was answered: run the agent with the state again.
   */
  answer<Interruption extends OpenAiInterruption>(state: OpenAiRunState<Interruption>): Promise<boolean>;
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
 * a person decides in Postern, and the call then runs once, however often the state is resumed. `state.reject` withdraws
 * Postern's request.
 *
 * @throws RuntimeFault `approval_waits` from `run`, for an interruption that is approved before the decision. Nothing has
 * run; resume the same stored state later.
 *
 * @example
 * await using postern = openaiAgentsTools(runtime, { principal, runId });
 * const agent = new Agent({ name: "assistant", instructions, tools: postern.tools });
 * let result = await run(agent, "Tell Ada hello.");
 * if (await postern.answer(result.state)) result = await run(agent, result.state);
 *
 * @public
 */
export function openaiAgentsTools(runtime: Runtime, context: AgentContext = {}): OpenAiAgentsTools {
  const offered = offerToLibrary(runtime, context, (tool, agentTools) => functionTool(tool, agentTools, runtime));
  const { agentTools } = offered;
  const answer: OpenAiAgentsTools["answer"] = async (state) => {
    let answered = false;
    for (const interruption of state.getInterruptions()) {
      const { name = "", arguments: given, rawItem } = interruption;
      if (agentTools.find(name) === undefined) continue;
      const { callId: id } = rawItem as { readonly callId?: string }; // the library's function call
      const request = await agentTools.approvalOf(defined({ name, arguments: given, id, turn: turnOf(state) }));
      if (request?.state === "pending") continue;
      const refused = request && (await refusalOf(request, runtime));
      if (refused === undefined) state.approve(interruption);
      else state.reject(interruption, { message: refused });
      answered = true;
    }
    return answered;
  };
  return { ...offered, answer };
}

/** The run context of the present call. A wrapped tool gets it back. */
const runContexts = new AsyncLocalStorage<unknown>();

/** The count of responses, which a stored state restores. The tokens tell the runs of one conversation apart. */
function turnOf({ usage }: Pick<RunContext, "usage">): string {
  return `${usage.requests}.${usage.totalTokens}`;
}

function functionTool(tool: AgentTool, agentTools: AgentTools, runtime: Runtime): OpenAiAgentsTool {
  const { name, description, parameters, offer } = tool;
  const useOf = (runContext: RunContext, input: unknown, id: string | undefined): ToolUse =>
    defined({ name, arguments: input, id, turn: turnOf(runContext) });
  return {
    type: "function",
    name,
    description,
    parameters: structuredClone(parameters),
    strict: false, // the gate validates
    deferLoading: false,
    isEnabled: async (runContext: RunContext) => {
      await withdrawRejected(tool, runContext, { agentTools, runtime }); // the library calls nothing else after a rejection
      return agentTools.find(name)?.offer.definition === offer.definition;
    },
    needsApproval: async (runContext: RunContext, input, callId) =>
      (await agentTools.requestApproval(useOf(runContext, input, callId))) !== undefined,
    invoke: async (runContext: RunContext, input, details) => {
      const use = useOf(runContext, input, details?.toolCall?.callId);
      const signal = defined({ signal: details?.signal });
      const answer = await runContexts.run(runContext, () => agentTools.call(use, signal));
      const open = openRequestOf(answer.outcome);
      if (open !== undefined) throw stillWaits(name, open.id); // the run ends, and its state stays
      return textOrParts(answer, partOf); // failures and refusals are text for the model, as the library's own are
    },
  };
}

async function withdrawRejected(
  { name, offer: { tool } }: AgentTool,
  runContext: RunContext,
  { agentTools, runtime }: { readonly agentTools: AgentTools; readonly runtime: Runtime },
): Promise<void> {
  const { principal, session } = agentTools;
  for (const state of ["pending", "approved"] as const)
    for (const { key } of await runtime.approvals.list({ state, tool, principal, runId: session.runId })) {
      const row = await runtime.calls.get(key);
      for (const { id, turn } of row === undefined ? [] : modelCallsOf(row))
        if (runContext.isToolApproved({ toolName: name, callId: id }) === false)
          await agentTools.withdraw({ id, turn, name });
    }
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
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
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
