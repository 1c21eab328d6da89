/**
 * Google Gemini: tools → function declarations, the model's calls → tool uses, answers → function responses.
 * The types are Google's own, written here so that the package `@google/genai` is not needed.
 */
import { type ContentBlock, isJsonObject, isRecord, type Json, type JsonObject } from "@postern/core";
import type { AgentTool, RenderedToolAnswer, ToolUse } from "./agent-tools.ts";
import { type DeclareOptions, declareTools, type FunctionDeclarationParts, type ProviderRules } from "./declare.ts";
import { structuredOrText } from "./library-tools.ts";
import { inTurn } from "./run-tools.ts";

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

/** A response of Gemini. Its id names the turn. */
export interface GoogleResponse {
  readonly responseId?: string;
  readonly candidates?: readonly { readonly content?: { readonly parts?: readonly unknown[] } }[];
}

/**
 * The calls in the first candidate of a response. A call without an id is named by its position, if the turn is known.
 *
 * @param response the whole response, or `response.candidates[0].content.parts`
 * @param turn names the response. Default: its id; of parts alone, the id of the first call
 * @public
 */
export function googleToolUses(response: GoogleResponse | readonly unknown[], turn?: string): ToolUse[] {
  const { responseId, candidates } = isParts(response) ? { candidates: [{ content: { parts: response } }] } : response;
  const named = turn ?? responseId;
  const calls = (candidates?.[0]?.content?.parts ?? []).flatMap(
    (part) => (isRecord(part) && isRecord(part["functionCall"]) ? [part["functionCall"] as JsonObject] : []), // it was parsed from JSON
  );
  const uses = calls.map((item, i) => {
    const id = idOf(item) ?? (named === undefined ? undefined : `call ${i + 1}`);
    return { ...(id !== undefined && { id }), name: String(item["name"]), arguments: item["args"], item };
  });
  return inTurn(uses, named);
}

function isParts(response: GoogleResponse | readonly unknown[]): response is readonly unknown[] {
  return Array.isArray(response);
}

function idOf({ id }: JsonObject): string | undefined {
  return typeof id === "string" ? id : undefined;
}

/**
 * The answer of a call as the `functionResponse` of a part.
 *
 * @public
 */
export function googleResult(use: ToolUse, answer: RenderedToolAnswer): GoogleFunctionResponse {
  const { text, content, isError } = answer;
  const media = content.flatMap(partOf);
  const id = use.item === undefined ? use.id : idOf(use.item); // the provider has not seen another id
  return {
    ...(id !== undefined && { id }),
    name: use.name,
    response: isError ? { error: text } : (ownResponse(answer) ?? { output: structuredOrText(answer, isSent) }),
    ...(media.length > 0 && { parts: media }),
  };
}

/** A provider-defined tool may answer with the whole response: Gemini's computer needs `url` in it. */
function ownResponse({ structured, outcome: { notes } }: RenderedToolAnswer): JsonObject | undefined {
  const { type, response } = isJsonObject(structured) ? structured : {};
  if (type !== "function_response" || !isJsonObject(response)) return undefined;
  return notes === undefined ? response : { notes, ...response };
}

function isSent(block: ContentBlock): boolean {
  return partOf(block).length > 0;
}

function partOf(block: ContentBlock): GooglePart[] {
  if (block.type !== "image" && block.type !== "audio" && block.type !== "file") return [];
  const { mediaType: mimeType, data, url, fileId } = block;
  if (data !== undefined) return [{ inlineData: { mimeType, data } }];
  const fileUri = fileId ?? url;
  return fileUri === undefined ? [] : [{ fileData: { mimeType, fileUri } }];
}
