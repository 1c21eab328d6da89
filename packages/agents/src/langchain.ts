/**
 * LangChain and LangGraph: Postern's tools for agents and tool nodes, and the gate around tools you have. The caller
 * passes the library's own functions in, so that its packages are not needed here.
 */
import { type ApprovalRecord, type ContentBlock, defined, isRecord } from "@postern/core";
import type { Runtime, ToolContext } from "postern";
import { openRequestOf } from "postern/results";
import type { AgentContext, AgentTools, RenderedToolAnswer, ToolUse } from "./agent-tools.ts";
import {
  type LibraryTools,
  noIn,
  offerToLibrary,
  refusedByUser,
  registerLibraryTools,
  type ToolStatements,
  textOrParts,
} from "./library-tools.ts";

/** A part of a tool message. */
export type LangChainContent = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

interface LangChainMessage {
  readonly id?: string;
  readonly tool_calls?: readonly { readonly id?: string }[];
}

/** The argument with which the library calls a tool's function, as far as it is used here. */
export interface LangChainCallConfig {
  readonly toolCall?: { readonly id?: string };
  /** The state of the graph: messages, or an object that holds them. */
  readonly state?: unknown;
  readonly metadata?: { readonly langgraph_step?: unknown };
  readonly signal?: AbortSignal;
}

/** The parts of the library that are used. */
export interface LangChainParts<Tool> {
  /** `tool` of `@langchain/core/tools`. */
  // biome-ignore lint/suspicious/noExplicitAny: its overloads take every kind of schema and function
  readonly tool: (run: any, fields: any) => Tool;
  /**
   * `interrupt` of `@langchain/langgraph`: a call that needs approval pauses the graph until a person has decided it in
   * Postern and the graph is resumed; a graph that is resumed earlier pauses again. Resuming it with `false` or
   * `{ approved: false, reason }` refuses the call. It needs a checkpointer. Without it, the model reads that a person must
   * decide.
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
  const order = new QuestionOrder();
  return offerToLibrary(runtime, context, ({ name, description, parameters }, agentTools) => {
    const refused = new WeakSet<object>();
    const run = async (input: never, config: LangChainCallConfig): Promise<string | LangChainContent[]> => {
      const { toolCall, signal } = config;
      const use = defined({ name, arguments: input, id: toolCall?.id, turn: turnOf(config) });
      const call = () => agentTools.call(use, defined({ signal }));
      const answer = await (interrupt === undefined
        ? call()
        : order.inOrder(use.turn, (isTurn) => pausing(use, { call, isTurn, interrupt, agentTools, runtime })));
      if (answer.isError && toolCall !== undefined) refused.add(toolCall);
      return contentOf(answer);
    };
    return throughGate(tool(run, { name, description, schema: structuredClone(parameters) }), refused);
  });
}

interface Pausing {
  readonly call: () => Promise<RenderedToolAnswer>;
  /** Resolves when the earlier calls of the turn have ended or paused. */
  readonly isTurn: () => Promise<void>;
  readonly interrupt: (value: unknown) => unknown;
  readonly agentTools: AgentTools;
  readonly runtime: Runtime;
}

/**
 * Pauses the graph as long as the call waits. The library runs the node again from its beginning and gives the answers to
 * `interrupt` in the order of the questions, so a call that was asked before asks first, also after the decision.
 */
async function pausing(use: ToolUse, { call, isTurn, interrupt, agentTools, runtime }: Pausing): Promise<Answer> {
  for (let request = await requestBefore(use, agentTools, runtime); ; ) {
    if (request !== undefined) {
      await isTurn();
      const no = noIn(interrupt(questionOf(request, use))); // throws until the graph is resumed
      if (no !== undefined) {
        await agentTools.withdraw(use, no.reason);
        return { isError: true, text: refusedByUser(use.name, no.reason), content: [] };
      }
    }
    const answer = await call();
    const open = openRequestOf(answer.outcome); // pending, or not decided while the caller waited
    if (open === undefined) return answer;
    request = await runtime.approvals.get(open.id);
  }
}

/** The request that this call itself made. A call that found the request of an equal call decided has not paused the graph. */
async function requestBefore(
  use: ToolUse,
  agentTools: AgentTools,
  runtime: Runtime,
): Promise<ApprovalRecord | undefined> {
  const request = await agentTools.approvalOf(use);
  const made = request && (await runtime.calls.get(request.key))?.call;
  return made?.toolCallId === use.id && made?.turn === use.turn ? request : undefined;
}

function questionOf({ id, expiresAt }: ApprovalRecord, use: ToolUse): LangChainInterrupt {
  return {
    ...{ approval_id: id, tool: use.name, arguments: use.arguments },
    expires_at: new Date(expiresAt).toISOString(),
  };
}

/** The calls of one response run together, but ask one after the other, so that each gets the answer to its own question. */
class QuestionOrder {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @param run gets a function that resolves when the earlier calls of the turn have ended or paused */
  inOrder<Result>(turn: string | undefined, run: (isTurn: () => Promise<void>) => Promise<Result>): Promise<Result> {
    if (turn === undefined) return run(async () => undefined);
    const earlier = this.#last.get(turn);
    const result = run(async () => void (await earlier));
    const ended = Promise.allSettled([earlier, result]).then(() => {
      if (this.#last.get(turn) === ended) this.#last.delete(turn);
    });
    this.#last.set(turn, ended);
    return result;
  }
}

/** The id of the message that holds the call, else its place, else the step of the graph. A checkpoint has all three. */
function turnOf({ toolCall, state, metadata }: LangChainCallConfig): string | undefined {
  const listed = isRecord(state) ? state["messages"] : state;
  const messages = (Array.isArray(listed) ? listed : []) as readonly LangChainMessage[]; // the library's messages
  const at = messages.findLastIndex(({ tool_calls: calls = [] }) => calls.some(({ id }) => id === toolCall?.id));
  if (at >= 0) return messages[at]?.id ?? `message ${at}`;
  const step = metadata?.langgraph_step;
  return step === undefined ? undefined : `step ${String(step)}`;
}

/**
 * The library's tool message says "success" for each answer that a tool returns. The library's own check of the arguments
 * is left out: it would tell the model nothing, and budget and log would miss the call. The gate checks them.
 */
function throughGate<Tool>(made: Tool, refused: WeakSet<object>): Tool {
  const { invoke } = made as { readonly invoke?: (call: object, config?: object) => Promise<object> }; // the library's tool
  if (invoke === undefined) return made;
  const unchecked = Object.create(made as object, { schema: { value: {} } });
  const own = {
    invoke: async (call: object, config?: object): Promise<object> => {
      const message = await invoke.call(unchecked, call, config);
      return refused.has(call) ? Object.assign(message, { status: "error" }) : message;
    },
  };
  return Object.assign(made as object, own) as Tool;
}

type Answer = Pick<RenderedToolAnswer, "isError" | "text" | "content">;

function contentOf(answer: Answer): string | LangChainContent[] {
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
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
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
