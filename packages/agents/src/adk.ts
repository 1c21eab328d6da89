/**
 * Google's Agent Development Kit: Postern's tools for an `LlmAgent`, and the gate around tools you have. The caller
 * passes `FunctionTool` in, so that the package itself is not needed here.
 */
import { defined, type JsonObject } from "@postern/core";
import type { Runtime, ToolContext } from "postern";
import type { AgentContext, ToolUse } from "./agent-tools.ts";
import {
  type LibraryTools,
  offerToLibrary,
  registerLibraryTools,
  structuredOrText,
  type ToolStatements,
} from "./library-tools.ts";

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
  /** The user's answer to the kit's question. Undefined before it. */
  readonly toolConfirmation?: { readonly confirmed: boolean };
  readonly actions: { skipSummarization?: boolean };
  readonly invocationContext: { endInvocation: boolean; readonly session: { readonly events: readonly AdkEvent[] } };
  requestConfirmation(question: { readonly hint: string; readonly payload: object }): void;
}

interface AdkEvent {
  readonly id: string;
  readonly content?: { readonly parts?: readonly { readonly functionCall?: AdkCall }[] };
}

interface AdkCall {
  readonly id?: string;
  readonly name?: string;
  readonly args?: { readonly originalFunctionCall?: { readonly id?: string } };
}

/**
 * Offers the runtime's tools to the kit.
 *
 * A call that waits for a person requests the kit's own confirmation. Confirming it decides nothing: a person decides in
 * Postern, and the confirmation then runs the call once. If it comes before the decision, the run of the agent ends
 * without an answer, and the same confirmation can be sent again. Rejecting it withdraws Postern's request.
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
  return offerToLibrary(runtime, context, ({ name, description, parameters }, agentTools) => {
    const useOf = (input: unknown, call?: AdkContext): ToolUse =>
      defined({ name, arguments: input ?? {}, id: call?.functionCallId, turn: call && placeOf(call).turn });
    let hasNoResult = false;
    const tool = new FunctionTool({
      ...{ name, description },
      // The kit asks this again when it continues, and refuses a confirmation that is not needed.
      requireConfirmation: async (input: unknown, call?: AdkContext) => {
        if (call?.toolConfirmation?.confirmed === false) await agentTools.withdraw(useOf(input, call));
        return call !== undefined && placeOf(call).isAsked;
      },
      execute: async (input: unknown, call?: AdkContext) => {
        const answer = await agentTools.call(useOf(input, call), { patience: "suspend" });
        const { outcome, isError, text, message = text } = answer;
        if (outcome.status === "pending" && call?.toolConfirmation !== undefined) {
          call.invocationContext.endInvocation = true;
          hasNoResult = true;
          setImmediate(() => {
            hasNoResult = false;
          });
          return undefined;
        }
        if (outcome.status === "pending" && call !== undefined) {
          call.requestConfirmation({ hint: message, payload: { tool: name, approval_id: outcome.approvalId } });
          call.actions.skipSummarization = true;
        }
        const result = structuredOrText(answer);
        if (isError) return { error: text };
        return typeof result === "string" ? { output: result } : result;
      },
    });
    // The kit reads this in the same turn of the event loop in which the call ends. A long-running tool may give no result, so
    // that the question stays open.
    Object.defineProperty(tool, "isLongRunning", { get: () => hasNoResult });
    // The kit converts only zod schemas; a JSON Schema is declared unchanged.
    const declaration = { name, description, parametersJsonSchema: structuredClone(parameters) };
    return Object.assign(tool, { _getDeclaration: () => declaration });
  });
}

/** The event that holds the call names its turn. The kit's question about the call is in a later event. */
function placeOf({ functionCallId: id, invocationContext: { session } }: AdkContext): {
  readonly turn: string | undefined;
  readonly isAsked: boolean;
} {
  const at = session.events.findLastIndex((event) => callsOf(event).some((call) => call.id === id));
  const later = session.events.slice(at + 1).flatMap(callsOf);
  const isAsked = later.some(({ name, args }) => name === confirmation && args?.originalFunctionCall?.id === id);
  return { turn: session.events[at]?.id, isAsked };
}

const confirmation = "adk_request_confirmation";

function callsOf({ content }: AdkEvent): readonly AdkCall[] {
  return (content?.parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
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
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
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
