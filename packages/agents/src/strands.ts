/**
 * Strands Agents: Postern's tools for an `Agent`, and the gate around tools you have. The caller passes `tool` in, so
 * that the package itself is not needed here.
 */
import { defined } from "@postern/core";
import type { Runtime } from "postern";
import { openRequestOf } from "postern/results";
import type { AgentContext, AgentTools, ToolUse } from "./agent-tools.ts";
import {
  type LibraryTools,
  noIn,
  offerToLibrary,
  refusedByUser,
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
  readonly agent: { readonly messages: readonly { readonly trackingId?: string }[] };
  /** Returns the user's answer, or `response` to a new question. Throws when the user must answer first. */
  interrupt(question: { readonly name: string; readonly reason: object; readonly response?: string }): unknown;
}

/**
 * Offers the runtime's tools to Strands.
 *
 * A call that waits for a person raises an interrupt whose reason names Postern's request. Answering the interrupt decides
 * nothing: a person decides in Postern, and the call then runs once. An answer before the decision raises another
 * interrupt. The answers `false`, `"n"` and `"no"` withdraw Postern's request.
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
        // The response that holds the call is not among the messages yet, so the message before it names the turn.
        const turn = call.agent.messages.at(-1)?.trackingId;
        const use = defined({ id: call.toolUse.toolUseId, turn, name, arguments: input });
        const request = await agentTools.approvalOf(use);
        // The user's answers come first: what they refused does not run, even if it was approved meanwhile.
        if (request !== undefined && hasRefused(call, { name, id: request.id, waits: request.state === "pending" }))
          return refused(use, agentTools);
        const answer = await agentTools.call(use);
        const open = openRequestOf(answer.outcome);
        if (open === undefined) return resultOf(answer);
        hasRefused(call, { name, id: open.id, waits: true });
        return refused(use, agentTools);
      },
    }),
  );
}

const notAsked = "postern: not asked";

/** Whether the user has refused the call. As long as the call waits, other answers lead to another interrupt, which is thrown. */
function hasRefused(
  call: StrandsContext,
  { name, id, waits }: { readonly name: string; readonly id: string; readonly waits: boolean },
): boolean {
  for (let round = 1; ; round += 1) {
    const question = { name: round === 1 ? id : `${id} ${round}`, reason: { tool: name, approval_id: id } };
    const answer = call.interrupt(waits ? question : { ...question, response: notAsked });
    if (answer === notAsked && !waits) return false;
    if (noIn(answer) !== undefined) return true;
  }
}

async function refused(use: ToolUse, agentTools: AgentTools): Promise<never> {
  await agentTools.withdraw(use);
  throw new Error(refusedByUser(use.name));
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
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
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
