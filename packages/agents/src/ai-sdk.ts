/**
 * AI SDK (package `ai`): Postern's tools for `generateText`, `streamText` and agents, and the gate around tools you
 * have.
 * The types are those of the AI SDK, written here so that the package itself is not needed.
 */
import { type ContentBlock, defined, isRecord } from "@postern/core";
import type { Runtime, ToolContext } from "postern";
import type { AgentContext, AgentTools, RenderedToolAnswer } from "./agent-tools.ts";
import {
  type AiSdkApprovalMessage,
  type AiSdkApprovalResponse,
  type AiSdkMessage,
  type AiSdkRequest,
  askedCalls,
  isAnswered,
  turnOf,
} from "./ai-sdk-messages.ts";
import { withImages, withoutBytes } from "./images.ts";
import {
  type AnySchema,
  anySchema,
  type LibraryTool,
  offerToLibrary,
  refusalOf,
  registerLibraryTools,
  resultOf,
  stillWaits,
  type ToolStatements,
  textOrParts,
} from "./library-tools.ts";

export type { AiSdkApprovalMessage, AiSdkApprovalResponse, AiSdkMessage } from "./ai-sdk-messages.ts";

/** A tool in the form of `generateText({ tools })`. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: AnySchema;
  execute(input: unknown, options: AiSdkCallOptions): Promise<unknown>;
  toModelOutput(result: { readonly output: unknown }): AiSdkModelOutput | Promise<AiSdkModelOutput>;
}

export interface AiSdkCallOptions {
  readonly toolCallId: string;
  readonly messages?: readonly AiSdkMessage[];
  readonly abortSignal?: AbortSignal;
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
    readonly messages: readonly AiSdkMessage[];
  }) => Promise<AiSdkApproval>;
  /** Withdraws the requests that the last message refuses. */
  readonly onStart: (event: { readonly messages: readonly AiSdkMessage[] | undefined }) => Promise<void>;
}

/** The tools of one agent in one run, for the AI SDK. */
export interface AiSdkAgent extends AsyncDisposable {
  readonly settings: AiSdkSettings;
  readonly agentTools: AgentTools;
  /**
   * The message that the AI SDK needs after a step with calls that waited: an answer for each. Empty when none waits.
   * Refusals that the messages hold already stay refusals.
   *
   * @returns undefined while a person must still decide one of them
   */
  responses(messages: readonly AiSdkMessage[]): Promise<AiSdkApprovalMessage[] | undefined>;
}

/**
 * Offers the runtime's tools to the AI SDK.
 *
 * A call that needs approval becomes the AI SDK's own `tool-approval-request`; its reason names Postern's request. A yes in
 * the message list does not decide: a person decides in Postern, and the call then runs once, however often the messages
 * are sent again. A no withdraws Postern's request.
 *
 * @throws RuntimeFault `approval_waits` from `generateText`, for a yes in the messages before the decision. Nothing has run;
 * send the same messages later.
 *
 * @example
 * await using agent = aiSdkTools(runtime, { principal, runId: chatId });
 * const responses = await agent.responses(messages);
 * if (responses === undefined) return; // a person must still decide
 * messages.push(...responses);
 * const result = await generateText({ model, messages, ...agent.settings });
 * messages.push(...result.responseMessages);
 *
 * @public
 */
export function aiSdkTools(runtime: Runtime, context: AgentContext = {}): AiSdkAgent {
  const { tools, agentTools, ...closing } = offerToLibrary(runtime, context, (tool, all): [string, AiSdkTool] => {
    const { name, description, parameters } = tool;
    const execute: AiSdkTool["execute"] = async (input, { toolCallId: id, messages, abortSignal: signal }) => {
      const use = { id, ...turnOf(id, messages), name, arguments: input };
      return outputOf(await all.call(use, defined({ signal })));
    };
    const toModelOutput: AiSdkTool["toModelOutput"] = ({ output }) =>
      isMediaOutput(output)
        ? mediaOf(output, (blocks) => withImages(blocks, runtime.artifacts, all.principal))
        : { type: "text", value: typeof output === "string" ? output : JSON.stringify(output) };
    return [name, { description, inputSchema: anySchema(parameters), execute, toModelOutput }];
  });
  const toolApproval: AiSdkSettings["toolApproval"] = async ({ toolCall, messages }) => {
    const { toolCallId: id, toolName: name, input } = toolCall;
    const request = await agentTools.requestApproval({ id, ...turnOf(id, messages), name, arguments: input });
    if (request === undefined) return "not-applicable"; // `execute` runs the call, or returns the earlier decision
    if (isAnswered(id, messages)) throw stillWaits(name, request.id); // the library would run it now, and end the turn with an error
    return { type: "user-approval", reason: `A person must decide the request ${request.id} in Postern.` };
  };
  const onStart: AiSdkSettings["onStart"] = async ({ messages = [] }) => {
    for (const { use, answer } of askedCalls(messages))
      if (answer?.approved === false) await agentTools.withdraw(use, answer.reason);
  };
  const responses: AiSdkAgent["responses"] = async (messages) => {
    await onStart({ messages });
    const content: AiSdkApprovalResponse[] = [];
    for (const asked of askedCalls(messages)) {
      const response = await responseTo(asked, agentTools, runtime);
      if (response === undefined) return undefined;
      content.push(response);
    }
    return content.length === 0 ? [] : [{ role: "tool", content }];
  };
  return {
    ...closing,
    ...{ agentTools, responses },
    settings: { tools: Object.fromEntries(tools), toolApproval, onStart },
  };
}

/** Returns undefined while a person must decide, and for a tool of the caller's own that has no answer. */
async function responseTo(
  { approvalId, use, answer }: AiSdkRequest,
  agentTools: AgentTools,
  runtime: Runtime,
): Promise<AiSdkApprovalResponse | undefined> {
  const answered = (approved: boolean, reason?: string): AiSdkApprovalResponse => ({
    ...{ type: "tool-approval-response", approvalId, approved },
    ...defined({ reason }),
  });
  if (answer?.approved === false) return answered(false, answer.reason);
  if (agentTools.find(use.name) === undefined) return answer && answered(true, answer.reason);
  const request = await agentTools.approvalOf(use);
  if (request?.state === "pending") return undefined;
  const refused = request && (await refusalOf(request, runtime));
  return answered(refused === undefined, refused); // without a request, `toolApproval` makes one
}

/** A result with media: its blocks, so that a chat that was stored has them in another process too. */
const mediaKey = "postern/content";

interface MediaOutput {
  readonly text: string;
  readonly [mediaKey]: readonly ContentBlock[];
}

/** @throws CallRefused when the tool did not run or failed */
function outputOf(answer: RenderedToolAnswer): unknown {
  const result = resultOf(answer);
  if (typeof textOrParts(answer, partOf) === "string") return result;
  return { text: answer.text, [mediaKey]: answer.content.map(withoutBytes) } satisfies MediaOutput;
}

function isMediaOutput(output: unknown): output is MediaOutput {
  return isRecord(output) && typeof output["text"] === "string" && Array.isArray(output[mediaKey]);
}

async function mediaOf(
  { text, [mediaKey]: blocks }: MediaOutput,
  withBytes: (blocks: readonly ContentBlock[]) => Promise<readonly ContentBlock[]>,
): Promise<AiSdkModelOutput> {
  const value = textOrParts({ text, content: await withBytes(blocks) }, partOf);
  return typeof value === "string" ? { type: "text", value } : { type: "content", value };
}

/**
 * Puts tools that you already have behind the gate. Do it once, at start; `aiSdkTools` then offers them.
 *
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
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
