/**
 * AI SDK (package `ai`): Postern's tools for `generateText`, `streamText` and agents, and the gate around tools you
 * have.
 * The types are those of the AI SDK, written here so that the package itself is not needed.
 */
import { defined } from "../core/defined.ts";
import type { ContentBlock } from "../core/outcome.ts";
import type { Runtime } from "../runtime/api.ts";
import { isRecord } from "../tools/kinds.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { AgentContext, AgentTools, RenderedToolAnswer } from "./agent-tools.ts";
import {
  type AnySchema,
  anySchema,
  type LibraryTool,
  offerToLibrary,
  registerLibraryTools,
  requestIfNeeded,
  resultOf,
  type ToolStatements,
  textOrParts,
} from "./library-tools.ts";

/** A tool in the form of `generateText({ tools })`. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: AnySchema;
  execute(
    input: unknown,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal },
  ): Promise<unknown>;
  toModelOutput(result: { readonly toolCallId: string; readonly output: unknown }): AiSdkModelOutput;
}

export type AiSdkModelOutput = { type: "text"; value: string } | { type: "content"; value: AiSdkOutputPart[] };

export type AiSdkOutputPart =
  | { type: "text"; text: string }
  | { type: "file"; data: { type: "data"; data: string }; mediaType: string; filename?: string };

/** The answer of `toolApproval` about a call. */
export type AiSdkApproval = "not-applicable" | { readonly type: "user-approval"; readonly reason: string };

/** Spread it into `generateText`, `streamText` or an agent's settings. */
export interface AiSdkSettings {
  readonly tools: Record<string, AiSdkTool>;
  readonly toolApproval: (options: {
    readonly toolCall: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown };
  }) => Promise<AiSdkApproval>;
}

/** The tools of one agent in one run, for the AI SDK. */
export interface AiSdkAgent extends AsyncDisposable {
  readonly settings: AiSdkSettings;
  readonly agentTools: AgentTools;
}

/**
 * Offers the runtime's tools to the AI SDK.
 *
 * A call that needs approval becomes the AI SDK's own `tool-approval-request`; its reason names Postern's request. The
 * answer in the message list does not decide: a person decides in Postern, and the call then runs once, however often the
 * messages are sent again.
 *
 * @example
 * await using agent = aiSdkTools(runtime, { principal, runId: chatId });
 * const result = await generateText({ model, messages, ...agent.settings });
 *
 * @public
 */
export function aiSdkTools(runtime: Runtime, context: AgentContext = {}): AiSdkAgent {
  /** The answer of each call, until the AI SDK asks for it. */
  const answers = new Map<string, RenderedToolAnswer>();
  const { tools, agentTools, ...closing } = offerToLibrary(runtime, context, (tool, all): [string, AiSdkTool] => {
    const { name, description, parameters } = tool;
    const execute: AiSdkTool["execute"] = async (input, { toolCallId, abortSignal: signal }) => {
      const answer = await all.call({ id: toolCallId, name, arguments: input }, defined({ signal }));
      const result = resultOf(answer);
      answers.set(toolCallId, answer);
      return result;
    };
    const toModelOutput: AiSdkTool["toModelOutput"] = ({ toolCallId, output }) =>
      modelOutput(answers.get(toolCallId), output);
    return [name, { description, inputSchema: anySchema(parameters), execute, toModelOutput }];
  });
  const toolApproval: AiSdkSettings["toolApproval"] = async ({ toolCall: { toolCallId: id, toolName, input } }) => {
    const request = await requestIfNeeded({ id, name: toolName, arguments: input }, agentTools);
    if (request === undefined) return "not-applicable"; // `execute` returns the earlier decision
    return { type: "user-approval", reason: `A person must decide the request ${request.id} in Postern.` };
  };
  return { ...closing, agentTools, settings: { tools: Object.fromEntries(tools), toolApproval } };
}

/**
 * Puts tools that you already have behind the gate. Do it once, at start; `aiSdkTools` then offers them.
 *
 * @throws RuntimeFault `tool_incomplete` for a tool whose risk is not stated
 *
 * @example
 * await wrapAiSdkTools(runtime, { sendEmail }, { sendEmail: { risk: "high", effects: "write", idempotent: false } });
 *
 * @public
 */
export async function wrapAiSdkTools(
  runtime: Runtime,
  tools: Readonly<Record<string, object>>,
  statements: ToolStatements,
): Promise<void> {
  const read = await Promise.all(Object.entries(tools).map(([name, tool]) => libraryTool(name, tool)));
  registerLibraryTools(runtime, read, statements);
}

function modelOutput(answer: RenderedToolAnswer | undefined, output: unknown): AiSdkModelOutput {
  if (answer === undefined)
    return { type: "text", value: typeof output === "string" ? output : JSON.stringify(output) };
  const value = textOrParts(answer, partOf);
  return typeof value === "string" ? { type: "text", value } : { type: "content", value };
}

function partOf(block: ContentBlock): AiSdkOutputPart | undefined {
  if (block.type === "text") return { type: "text", text: block.text };
  if ((block.type === "image" || block.type === "audio" || block.type === "file") && block.data !== undefined)
    return { type: "file", data: { type: "data", data: block.data }, mediaType: block.mediaType };
  return undefined;
}

async function libraryTool(name: string, tool: object): Promise<LibraryTool> {
  const { description, inputSchema, execute } = tool as {
    readonly description?: string;
    readonly inputSchema?: unknown;
    readonly execute?: (input: unknown, options: object) => unknown;
  }; // the AI SDK's own members
  return {
    ...{ original: tool, name, description, input: await inputOf(inputSchema) },
    execute: (input: unknown, { callId, signal }: ToolContext) =>
      lastOf(execute?.call(tool, input, { toolCallId: callId, messages: [], abortSignal: signal })),
  };
}

/** Zod and other Standard Schemas unchanged; a schema of `jsonSchema()` as JSON Schema. */
async function inputOf(inputSchema: unknown): Promise<unknown> {
  const schema = typeof inputSchema === "function" ? (inputSchema as () => unknown)() : inputSchema;
  if (!isRecord(schema) || "~standard" in schema) return schema;
  return await schema["jsonSchema"]; // where `jsonSchema()` stores it, or a promise of it
}

/** A tool may yield preliminary results; the last one is its result. */
async function lastOf(result: unknown): Promise<unknown> {
  const value = await result;
  if (!isRecord(value) || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const one of value as unknown as AsyncIterable<unknown>) last = one;
  return last;
}
