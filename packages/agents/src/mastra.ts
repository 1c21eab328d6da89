/**
 * Mastra: Postern's tools for an `Agent`, and the gate around tools you have. The caller passes `createTool` in, so
 * that the package itself is not needed here.
 */
import { defined, isRecord } from "@postern/core";
import type { Runtime, ToolContext } from "postern";
import { openRequestOf } from "postern/results";
import type { AgentContext, ToolUse } from "./agent-tools.ts";
import {
  anySchema,
  type LibraryTools,
  noIn,
  offerToLibrary,
  refusedByUser,
  registerLibraryTools,
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
  /** Mastra's own id of the run. */
  readonly runId?: string;
  readonly toolCallId?: string;
  readonly agent?: {
    readonly toolCallId?: string;
    readonly suspend?: (payload: MastraSuspension) => Promise<unknown>;
    /** What the suspended run is resumed with. */
    readonly resumeData?: unknown;
    /** What the call was suspended with. */
    readonly suspendPayload?: unknown;
  };
}

/** What a suspended run shows. */
export interface MastraSuspension {
  readonly approval_id: string;
  readonly tool: string;
  readonly arguments: unknown;
  readonly expires_at: string;
  /** The model's response that holds the call. The run gives it back when it is resumed. */
  readonly turn: string;
}

/**
 * Offers the runtime's tools to Mastra.
 *
 * A call that needs approval suspends the run until a person has decided it in Postern. `approveToolCall` lets the run go on
 * and decides nothing: a call that still waits suspends the run again, and an approved call runs once. `declineToolCall`
 * withdraws Postern's request.
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
  const turns = new MastraTurns();
  const offered = offerToLibrary(runtime, context, ({ name, description, parameters }, agentTools): [string, Tool] => {
    const execute = async (input: unknown, call: MastraContext = {}): Promise<unknown> => {
      const { agent, toolCallId: id = agent?.toolCallId, abortSignal: signal } = call;
      const turn = turns.of(call, id);
      const use: ToolUse = defined({ name, arguments: input, id, turn });
      const no = noIn(agent?.resumeData);
      if (no !== undefined) {
        await agentTools.withdraw(use, no.reason);
        throw new Error(refusedByUser(name, no.reason));
      }
      const answer = await agentTools.call(use, defined({ signal }));
      const open = openRequestOf(answer.outcome); // pending, or not decided while the caller waited
      if (open !== undefined && agent?.suspend !== undefined && turn !== undefined) {
        const { id: approval_id, expiresAt: expires_at = "" } = open;
        return agent.suspend({ approval_id, tool: name, arguments: input, expires_at, turn });
      }
      turns.answered(call, id);
      return resultOf(answer);
    };
    // With a schema for suspensions, Mastra runs the calls of a step one after the other: it cannot resume two at once.
    const schemas = { inputSchema: anySchema(parameters), suspendSchema: anySchema({ type: "object" }) };
    return [name, createTool({ id: name, description, ...schemas, execute })];
  });
  return { ...offered, tools: Object.fromEntries(offered.tools) };
}

/**
 * Mastra shows a tool its run, but not the response. An id that was answered in the run before is a call of a later
 * response. A suspended call gets its turn back from the stored run.
 */
class MastraTurns {
  readonly #answered = new Map<string, number>();

  of({ runId, agent }: MastraContext, id: string | undefined): string | undefined {
    const suspended = agent?.suspendPayload;
    if (isRecord(suspended) && typeof suspended["turn"] === "string") return suspended["turn"];
    if (runId === undefined || id === undefined) return undefined;
    return `${runId}.${this.#answered.get(`${runId} ${id}`) ?? 0}`;
  }

  answered({ runId }: MastraContext, id: string | undefined): void {
    if (runId === undefined || id === undefined) return;
    const key = `${runId} ${id}`;
    this.#answered.set(key, (this.#answered.get(key) ?? 0) + 1);
  }
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
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
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
