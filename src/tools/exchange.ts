import { randomUUID } from "node:crypto";
import type { JsonObject } from "../calls/json.ts";
import { type ContentBlock, textOf } from "../calls/outcome.ts";

/** SPEC 3.2. What a model asks for, before it is a call of ours. */
export interface ToolCallRequest {
  readonly kind: "tool_call";
  readonly name: string;
  readonly arguments: JsonObject;
  readonly callId: string;
}

/** SPEC 3.3. What goes back into the conversation. */
export interface ToolExecutionResult {
  readonly kind: "tool_result";
  /** Empty until the loop fills it. */
  readonly callId: string;
  readonly name: string;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** Not shown to the model. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly structuredContent: JsonObject;
  /** The text blocks, joined by line breaks. */
  readonly text: string;
}

export function toolCallRequest(request: {
  readonly name: string;
  readonly arguments?: JsonObject;
  readonly callId?: string;
}): ToolCallRequest {
  return Object.freeze({
    kind: "tool_call",
    name: request.name,
    arguments: Object.freeze({ ...request.arguments }),
    callId: request.callId ?? randomUUID(),
  });
}

export function toolExecutionResult(
  result: Partial<Omit<ToolExecutionResult, "kind" | "text">> = {},
): ToolExecutionResult {
  const content = Object.freeze([...(result.content ?? [])]);
  return Object.freeze({
    kind: "tool_result",
    callId: result.callId ?? "",
    name: result.name ?? "",
    content,
    isError: result.isError ?? false,
    metadata: Object.freeze({ ...result.metadata }),
    structuredContent: Object.freeze({ ...result.structuredContent }),
    text: textOf(content),
  });
}
