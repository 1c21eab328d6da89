/**
 * Google Gemini: tools → function declarations, the model's calls → tool uses, answers → function responses.
 * The types are Google's own, written here so that the package `@google/genai` is not needed.
 */
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { ContentBlock } from "../core/outcome.ts";
import { isRecord } from "../tools/kinds.ts";
import type { AgentTool, RenderedToolAnswer, ToolUse } from "./agent-tools.ts";
import { type DeclareOptions, declareTools, type FunctionDeclarationParts, type ProviderRules } from "./declare.ts";

const google: ProviderRules = { name: "google" };

export interface GoogleFunction {
  name: string;
  description: string;
  parametersJsonSchema: Record<string, unknown>;
}

/** One entry of `config.tools`: all our functions together, or one hosted tool as declared. */
export type GoogleTool = { functionDeclarations: GoogleFunction[] } | Json;

export interface GoogleFunctionResponse {
  id?: string;
  name: string;
  response: Record<string, unknown>;
  parts?: GooglePart[];
}

export type GooglePart =
  | { inlineData: { mimeType: string; data: string } }
  | { fileData: { mimeType: string; fileUri: string } };

/**
 * Declares tools for Gemini. It has no strict mode and no deferred loading: deferred tools are left out when the runtime
 * offers `tool_search`, and are sent otherwise.
 *
 * @example
 * const response = await ai.models.generateContent({ model, contents, config: { tools: googleTools(tools.list()) } });
 *
 * @public
 */
export function googleTools(tools: readonly AgentTool[], options: DeclareOptions = {}): GoogleTool[] {
  const declared = declareTools(tools, google, { encode: encodeFunction, options });
  const functions = declared.filter(isFunction);
  const others = declared.filter((one): one is Json => !isFunction(one));
  return functions.length === 0 ? others : [{ functionDeclarations: functions }, ...others];
}

function encodeFunction({ name, description, decision }: FunctionDeclarationParts): GoogleFunction {
  return { name, description, parametersJsonSchema: decision.schema };
}

function isFunction(declared: GoogleFunction | Json): declared is GoogleFunction {
  return isRecord(declared) && typeof declared["name"] === "string" && isRecord(declared["parametersJsonSchema"]);
}

/**
 * The calls in a response.
 *
 * @param parts `response.candidates[0].content.parts`
 * @public
 */
export function googleToolUses(parts: readonly unknown[]): ToolUse[] {
  return parts.flatMap((part) => {
    if (!isRecord(part) || !isRecord(part["functionCall"])) return [];
    const call = part["functionCall"] as JsonObject; // it was parsed from JSON
    const { id, name, args } = call;
    return [{ ...(typeof id === "string" && { id }), name: String(name), arguments: args, item: call }];
  });
}

/**
 * The answer of a call as the `functionResponse` of a part.
 *
 * @public
 */
export function googleResult(use: ToolUse, answer: RenderedToolAnswer): GoogleFunctionResponse {
  const { text, structured, content, isError } = answer;
  const media = content.flatMap(partOf);
  return {
    ...(use.id !== undefined && { id: use.id }),
    name: use.name,
    response: isError ? { error: text } : (ownResponse(structured) ?? { output: structured ?? text }),
    ...(media.length > 0 && { parts: media }),
  };
}

/** A provider-defined tool may answer with the whole response: Gemini's computer needs `url` in it. */
function ownResponse(structured: Json | undefined): JsonObject | undefined {
  const { type, response } = isJsonObject(structured) ? structured : {};
  return type === "function_response" && isJsonObject(response) ? response : undefined;
}

function partOf(block: ContentBlock): GooglePart[] {
  if (block.type !== "image" && block.type !== "audio" && block.type !== "file") return [];
  const { mediaType: mimeType, data, url, fileId } = block;
  if (data !== undefined) return [{ inlineData: { mimeType, data } }];
  const fileUri = fileId ?? url;
  return fileUri === undefined ? [] : [{ fileData: { mimeType, fileUri } }];
}
