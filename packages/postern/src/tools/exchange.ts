import { randomUUID } from "node:crypto";
import { type ContentBlock, type JsonObject, textOf } from "@postern/core";

/**
 * What a model asks for. `handleCall` of a provider-defined tool receives it.
 *
 * @public
 */
export interface ToolCallRequest {
  readonly kind: "tool_call";
  readonly name: string;
  readonly arguments: JsonObject;
  readonly callId: string;
}

/**
 * The result for the conversation. A tool may answer with it.
 *
 * @public
 */
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

/**
 * Makes a request. It gets an id if none is given.
 *
 * @public
 */
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

/**
 * Makes a result. Members that are left out get their defaults.
 *
 * @example
 * const found = toolExecutionResult({ content: [{ type: "text", text: "3 rows" }], structuredContent: { rows: 3 } });
 *
 * @public
 */
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
