/**
 * Anthropic: tools → declarations, the model's calls → tool uses, answers → result blocks of the Messages API.
 * The types are Anthropic's own, written here so that the package `@anthropic-ai/sdk` is not needed.
 */
import { type ContentBlock, isRecord, type Json, type JsonObject, type MediaBlock } from "@postern/core";
import type { AgentTool, RenderedToolAnswer, ToolUse } from "./agent-tools.ts";
import { type DeclareOptions, declareTools, type FunctionDeclarationParts, type ProviderRules } from "./declare.ts";
import { textOrParts } from "./library-tools.ts";
import { inTurn } from "./run-tools.ts";
import { anthropicStrict } from "./strict.ts";

const anthropic: ProviderRules = { name: "anthropic", strict: anthropicStrict, defers: true };

export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: { type: "object"; [keyword: string]: unknown };
  strict?: true;
  defer_loading?: true;
}

export type AnthropicContent =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: AnthropicImageType; data: string } }
  | { type: "image" | "document"; source: AnthropicPlace }
  | { type: "document"; source: { type: "base64"; media_type: "application/pdf"; data: string } };

/** Where the provider finds a file. */
export type AnthropicPlace = { type: "url"; url: string } | { type: "file"; file_id: string };

export type AnthropicImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

export interface AnthropicResult {
  type: "tool_result";
  tool_use_id: string;
  content: string | AnthropicContent[];
  is_error?: true;
  toolset_name?: string;
}

/**
 * Declares tools for the Messages API. Tools with `deferLoading` are sent deferred, beside the provider's tool search.
 *
 * @example
 * const message = await client.messages.create({ model, max_tokens, messages, tools: anthropicTools(tools.list()) });
 *
 * @public
 */
export function anthropicTools(tools: readonly AgentTool[], options: DeclareOptions = {}): (AnthropicTool | Json)[] {
  const declared = declareTools(tools, anthropic, { encode: encodeTool, options });
  const anyDeferred = tools.some(({ offer }) => offer.kind === "local" && offer.deferLoading);
  return anyDeferred ? [...declared, searchTool] : [...declared];
}

const searchTool = { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" };

function encodeTool({ name, description, decision, deferred }: FunctionDeclarationParts): AnthropicTool {
  return {
    name,
    description,
    input_schema: { ...decision.schema, type: "object" },
    ...(decision.strict && { strict: true as const }),
    ...(deferred && { defer_loading: true as const }),
  };
}

/** A message of the model. Its id names the turn. */
export interface AnthropicMessage {
  readonly id?: string;
  readonly content: readonly unknown[];
}

/**
 * The calls in a message. What the provider runs itself (`server_tool_use`) is not among them. A member of a toolset is
 * called by the toolset's name, with its own name as `action` and the id of its block as `call_id`: two clicks at one point
 * are two calls.
 *
 * @param message the whole message, or its `content`
 * @param turn names the message. Default: its id; of a `content` alone, the id of the first call
 * @public
 */
export function anthropicToolUses(message: AnthropicMessage | readonly unknown[], turn?: string): ToolUse[] {
  const { id: messageId, content } = "content" in message ? message : { content: message };
  const uses = content.flatMap((block) => {
    if (!isRecord(block) || block["type"] !== "tool_use") return [];
    const { id, name, input, toolset_name: toolset } = block as JsonObject; // it was parsed from JSON
    const item = block as JsonObject;
    if (typeof toolset !== "string") return [{ id: text(id), name: text(name), arguments: input, item }];
    const members = isRecord(input) ? input : {};
    return [{ id: text(id), name: toolset, arguments: { ...members, action: text(name), call_id: text(id) }, item }];
  });
  return inTurn(uses, turn ?? messageId);
}

/**
 * The answer of a call for the next user message.
 *
 * @public
 */
export function anthropicResult(use: ToolUse, answer: RenderedToolAnswer): AnthropicResult {
  const toolset = use.item?.["toolset_name"];
  return {
    type: "tool_result",
    tool_use_id: use.id ?? "",
    content: anthropicContent(answer),
    ...(answer.isError && { is_error: true as const }),
    ...(typeof toolset === "string" && { toolset_name: toolset }),
  };
}

/** An answer as the content of a tool result. */
export function anthropicContent(answer: RenderedToolAnswer): string | AnthropicContent[] {
  return textOrParts(answer, partOf);
}

function partOf(block: ContentBlock): AnthropicContent | undefined {
  if (block.type === "text") return { type: "text", text: block.text };
  if (block.type !== "image" && block.type !== "file") return undefined;
  const { mediaType, data } = block;
  if (data === undefined) {
    const source = placeOf(block);
    return source && { type: block.type === "image" ? "image" : "document", source };
  }
  if (isImageType(mediaType)) return { type: "image", source: { type: "base64", media_type: mediaType, data } };
  if (mediaType !== "application/pdf") return undefined;
  return { type: "document", source: { type: "base64", media_type: mediaType, data } };
}

function placeOf({ url, fileId }: MediaBlock): AnthropicPlace | undefined {
  if (url !== undefined) return { type: "url", url };
  return fileId === undefined ? undefined : { type: "file", file_id: fileId };
}

function isImageType(mediaType: string): mediaType is AnthropicImageType {
  return /^image\/(jpeg|png|gif|webp)$/.test(mediaType);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
