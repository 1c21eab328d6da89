/**
 * What the AI SDK's messages tell about the calls of the last response: its turn, and the approvals that the library asked
 * for. They are read as the library reads them: an answer counts in the last message, and only for a call without a result.
 */
import type { ToolUse } from "./agent-tools.ts";

/** A message of the list, as far as it is used here. */
export interface AiSdkMessage {
  readonly role: string;
  readonly content: unknown;
}

/** The message with the answers to the library's approval requests. */
export interface AiSdkApprovalMessage {
  role: "tool";
  content: AiSdkApprovalResponse[];
}

export interface AiSdkApprovalResponse {
  type: "tool-approval-response";
  approvalId: string;
  approved: boolean;
  reason?: string;
}

/** A call of the last response for which the library asked, and which has no result yet. */
export interface AiSdkRequest {
  /** The library's id of its request. */
  readonly approvalId: string;
  readonly use: ToolUse & { readonly id: string };
  /** In the last message. */
  readonly answer?: Part | undefined;
}

/** A part of a message's content. Which members it has depends on its type. */
interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly approvalId?: string;
  readonly approved?: boolean;
  readonly reason?: string;
}

/**
 * Names the response that holds the call: how many responses came before it. A call that the library runs after an answer
 * is in the last response; any other call is in the response that follows the messages.
 */
export function turnOf(id: string, messages: readonly AiSdkMessage[] | undefined): { readonly turn?: string } {
  if (messages === undefined) return {};
  const responses = messages.filter(isResponse).length;
  return { turn: String(isAnswered(id, messages) ? responses - 1 : responses) };
}

/** Whether the library runs this call because the last message answers its request. */
export function isAnswered(id: string, messages: readonly AiSdkMessage[]): boolean {
  return askedCalls(messages).some(({ use, answer }) => use.id === id && answer !== undefined);
}

export function askedCalls(messages: readonly AiSdkMessage[]): readonly AiSdkRequest[] {
  const at = messages.findLastIndex(isResponse);
  const response = at < 0 ? [] : partsOf(messages[at]);
  const turn = String(messages.filter(isResponse).length - 1);
  const results = messages
    .slice(at + 1)
    .flatMap(partsOf)
    .filter(isOf("tool-result"));
  const answers = partsOf(messages.at(-1)).filter(isOf("tool-approval-response"));
  return response.filter(isOf("tool-approval-request")).flatMap(({ approvalId, toolCallId: id }) => {
    const call = response.find((part) => part.type === "tool-call" && part.toolCallId === id);
    if (approvalId === undefined || id === undefined || call === undefined) return [];
    if (results.some(({ toolCallId }) => toolCallId === id)) return [];
    const use = { id, turn, name: call.toolName ?? "", arguments: call.input };
    return [{ approvalId, use, answer: answers.find((answer) => answer.approvalId === approvalId) }];
  });
}

function isResponse({ role }: AiSdkMessage): boolean {
  return role === "assistant";
}

function isOf(type: string): (part: Part) => boolean {
  return (part) => part.type === type;
}

function partsOf(message: AiSdkMessage | undefined): readonly Part[] {
  return Array.isArray(message?.content) ? (message.content as readonly Part[]) : []; // the library's own parts
}
