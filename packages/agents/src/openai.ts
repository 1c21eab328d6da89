/**
 * OpenAI: tools → declarations, the model's calls → tool uses, answers → result items. Responses and Chat Completions.
 * The types are OpenAI's own, written here so that the package `openai` is not needed.
 */
import { type ContentBlock, isRecord, type Json, type JsonObject, type MediaBlock } from "@postern/core";
import type { AgentTool, RenderedToolAnswer, ToolUse } from "./agent-tools.ts";
import { type DeclareOptions, declareTools, type FunctionDeclarationParts, type ProviderRules } from "./declare.ts";
import { textOrParts } from "./library-tools.ts";
import { inTurn } from "./run-tools.ts";
import { openaiStrict } from "./strict.ts";

const responses: ProviderRules = { name: "openai", strict: openaiStrict, defers: true };
/** Chat Completions has only functions, so no tool has an entry under this name. */
const chat: ProviderRules = { name: "openai_chat", strict: openaiStrict };

/** A function of the Responses API. */
export interface OpenAiFunctionTool {
  type: "function";
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  strict: boolean;
  defer_loading?: true;
}

/** A function of Chat Completions. */
export interface OpenAiChatTool {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown>; strict: boolean };
}

/** Part of a result of the Responses API. */
export type OpenAiOutputPart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_image"; file_id: string; detail: "auto" }
  | { type: "input_file"; filename: string; file_data: string }
  | { type: "input_file"; file_url: string }
  | { type: "input_file"; file_id: string };

/** The answer of a call of the Responses API. */
export type OpenAiResultItem =
  | { type: "function_call_output"; call_id: string; output: string | OpenAiOutputPart[]; caller?: OpenAiCaller }
  | { type: "shell_call_output"; call_id: string; output: OpenAiShellOutput[]; max_output_length?: number }
  | { type: "local_shell_call_output"; id: string; output: string }
  | { type: "apply_patch_call_output"; call_id: string; status: "completed" | "failed"; output: string }
  | {
      type: "computer_call_output";
      call_id: string;
      output: { type: "computer_screenshot"; image_url: string };
      acknowledged_safety_checks?: OpenAiSafetyCheck[];
    }
  | { type: "custom_tool_call_output"; call_id: string; output: string }
  | { type: "message"; role: "user"; content: string };

export interface OpenAiSafetyCheck {
  id: string;
  code?: string | null;
  message?: string | null;
}

/** The maker of a call: the model itself, or a program that the provider runs. It is sent back unchanged. */
export type OpenAiCaller = { type: "direct" } | { type: "program"; caller_id: string };

export interface OpenAiShellOutput {
  stdout: string;
  stderr: string;
  outcome: { type: "exit"; exit_code: number } | { type: "timeout" };
}

/**
 * Declares tools for the Responses API. Tools with `deferLoading` are sent deferred, beside the provider's tool search.
 *
 * @example
 * const response = await openai.responses.create({ model, input, tools: openaiTools(tools.list()) });
 *
 * @public
 */
export function openaiTools(tools: readonly AgentTool[], options: DeclareOptions = {}): (OpenAiFunctionTool | Json)[] {
  const declared = declareTools(tools, responses, { encode: encodeFunction, options });
  const anyDeferred = tools.some(({ offer }) => offer.kind === "local" && offer.deferLoading);
  return anyDeferred ? [...declared, { type: "tool_search" }] : [...declared];
}

/**
 * Declares tools for Chat Completions. It has only functions: hosted and provider-defined tools are left out.
 *
 * @public
 */
export function openaiChatTools(tools: readonly AgentTool[], options: DeclareOptions = {}): OpenAiChatTool[] {
  return declareTools(tools, chat, { encode: encodeChat, options }).filter(isChatTool);
}

function encodeFunction({ name, description, decision, deferred }: FunctionDeclarationParts): OpenAiFunctionTool {
  const { schema: parameters, strict } = decision;
  return { type: "function", name, description, parameters, strict, ...(deferred && { defer_loading: true as const }) };
}

function encodeChat({ name, description, decision }: FunctionDeclarationParts): OpenAiChatTool {
  return { type: "function", function: { name, description, parameters: decision.schema, strict: decision.strict } };
}

function isChatTool(declared: OpenAiChatTool | Json): declared is OpenAiChatTool {
  return isRecord(declared) && isRecord(declared["function"]);
}

type ItemReader = (item: JsonObject) => ToolUse;

/** Items of a response that need an answer from here, in their order: function calls, and calls of provider-defined tools. */
const answered: ReadonlyMap<string, ItemReader> = new Map<string, ItemReader>([
  ["function_call", (item) => ({ ...base(item), name: functionName(item), arguments: item["arguments"] })],
  [
    "custom_tool_call",
    (item) => ({ ...base(item), name: text(item["name"]), arguments: { input: item["input"] ?? "" } }),
  ],
  ...(["shell_call", "local_shell_call", "apply_patch_call"] as const).map((type): [string, ItemReader] => [
    type,
    (item) => ({
      ...base(item),
      name: type,
      arguments: requestedInput(item, type === "apply_patch_call" ? "operation" : "action"),
    }),
  ]),
  ["computer_call", (item) => ({ ...base(item), name: "computer_call", arguments: item })],
]);

/** A response of the Responses API. Its id names the turn. */
export interface OpenAiResponse {
  readonly id?: string;
  readonly output: readonly unknown[];
}

/**
 * The calls in a response. Messages, reasoning and what the provider has run itself are not among them.
 *
 * @param response the whole response, or its `output`
 * @param turn names the response. Default: its id; of an `output` alone, the id of the first call
 * @public
 */
export function openaiToolUses(response: OpenAiResponse | readonly unknown[], turn?: string): ToolUse[] {
  const { id, output } = "output" in response ? response : { output: response };
  const uses = output.flatMap((item) => {
    if (!isRecord(item)) return [];
    const read = answered.get(text(item["type"]));
    return read === undefined ? [] : [read(item as JsonObject)]; // it was parsed from JSON
  });
  return inTurn(uses, turn ?? id);
}

/** A message of Chat Completions. */
export interface OpenAiChatMessage {
  readonly tool_calls?: readonly unknown[] | null | undefined;
}

/** A response of Chat Completions. Its id names the turn. */
export interface OpenAiChatCompletion {
  readonly id?: string;
  readonly choices: readonly { readonly message: OpenAiChatMessage }[];
}

/**
 * The calls in the first choice of a completion.
 *
 * @param completion the whole completion, or `completion.choices[0].message`
 * @param turn names the completion. Default: its id; of a message alone, the id of the first call
 * @public
 */
export function openaiChatToolUses(completion: OpenAiChatCompletion | OpenAiChatMessage, turn?: string): ToolUse[] {
  const { id, choices } = "choices" in completion ? completion : { choices: [{ message: completion }] };
  const uses = (choices[0]?.message.tool_calls ?? []).flatMap((call) => {
    if (!isRecord(call) || !isRecord(call["function"])) return [];
    const { name, arguments: given } = call["function"];
    return [{ id: text(call["id"]), name: text(name), arguments: given, item: call as JsonObject }];
  });
  return inTurn(uses, turn ?? id);
}

/** The content of the request without the item's ids, so that the same call sent again has the same arguments. */
function requestedInput(item: JsonObject, member: "action" | "operation"): JsonObject {
  return { [member]: item[member] ?? {} };
}

function base(item: JsonObject): { id: string; item: JsonObject } {
  return { id: text(item["call_id"] ?? item["id"]), item };
}

function functionName({ name, namespace }: JsonObject): string {
  return typeof namespace === "string" && namespace !== "" ? `${namespace}__${text(name)}` : text(name);
}

/**
 * The answer of a call for the next request's `input`.
 *
 * @public
 */
export function openaiResult(use: ToolUse, answer: RenderedToolAnswer): OpenAiResultItem[] {
  const own = ownResult(use, answer);
  if (own !== undefined) return [own, ...notesItem(answer)];
  const call_id = use.id ?? "";
  switch (use.item?.["type"]) {
    case "shell_call":
      return [{ type: "shell_call_output", call_id, output: shellOutputs(answer) }];
    case "local_shell_call":
      return [
        { type: "local_shell_call_output", id: text(use.item["id"]), output: JSON.stringify(shellOutputs(answer)[0]) },
        ...(ownOutputs(answer) === undefined ? [] : notesItem(answer)),
      ];
    case "apply_patch_call":
      return [
        {
          type: "apply_patch_call_output",
          call_id,
          status: answer.isError ? "failed" : "completed",
          output: answer.text,
        },
      ];
    case "computer_call":
      return computerResult(call_id, answer);
    case "custom_tool_call":
      return [{ type: "custom_tool_call_output", call_id, output: answer.text }];
    default:
      return [{ type: "function_call_output", call_id, output: textOrParts(answer, partOf), ...callerOf(use) }];
  }
}

/**
 * The answer of a call for Chat Completions: a text message, the only kind it accepts.
 *
 * @public
 */
export function openaiChatResult(
  use: ToolUse,
  answer: RenderedToolAnswer,
): { role: "tool"; tool_call_id: string; content: string } {
  return { role: "tool", tool_call_id: use.id ?? "", content: answer.text };
}

/** A provider-defined tool may answer with the provider's own item. It is sent unchanged, under the call's id. */
function ownResult(use: ToolUse, { structured, isError }: RenderedToolAnswer): OpenAiResultItem | undefined {
  const type = use.item?.["type"];
  if (isError || type === undefined || !isRecord(structured) || structured["type"] !== `${text(type)}_output`)
    return undefined;
  const ids = type === "local_shell_call" ? { id: text(use.item?.["id"]) } : { call_id: use.id ?? "" };
  return { ...structured, ...ids } as OpenAiResultItem; // the tool's author gave it this type
}

/** The output of each command, if a shell tool states it; otherwise the text. */
function shellOutputs(answer: RenderedToolAnswer): OpenAiShellOutput[] {
  const { text: stdout, isError } = answer;
  if (isError) return [{ stdout: "", stderr: stdout, outcome: { type: "exit", exit_code: 1 } }];
  return ownOutputs(answer) ?? [{ stdout, stderr: "", outcome: { type: "exit", exit_code: 0 } }];
}

function ownOutputs({ structured, isError }: RenderedToolAnswer): OpenAiShellOutput[] | undefined {
  if (isError || !isRecord(structured) || structured["type"] !== "shell_call_output") return undefined;
  const { output } = structured;
  return Array.isArray(output) && output.length > 0 ? (output as unknown as OpenAiShellOutput[]) : undefined; // the tool's author gave it this type
}

/** A computer call must be answered with a picture. A refusal is an empty picture with a message beside it. */
function computerResult(call_id: string, answer: RenderedToolAnswer): OpenAiResultItem[] {
  const picture = answer.content.find((block) => block.type === "image" && block.data !== undefined);
  const image_url = picture?.type === "image" ? dataUrl(picture) : emptyPicture;
  const output: OpenAiResultItem = {
    type: "computer_call_output",
    call_id,
    output: { type: "computer_screenshot", image_url },
    ...acknowledgedChecks(answer),
  };
  return [output, ...(answer.isError ? [userMessage(answer.text)] : notesItem(answer))];
}

/** The notes of an outcome, beside an item that has no place for them. */
function notesItem({ outcome: { notes } }: RenderedToolAnswer): OpenAiResultItem[] {
  return notes === undefined ? [] : [userMessage(notes.join(" "))];
}

function userMessage(content: string): OpenAiResultItem {
  return { type: "message", role: "user", content };
}

/** The safety checks that a person approved, as the tool states. No others are acknowledged. */
function acknowledgedChecks({ structured, isError }: RenderedToolAnswer): {
  acknowledged_safety_checks?: OpenAiSafetyCheck[];
} {
  const checks = isRecord(structured) && !isError ? structured["acknowledged_safety_checks"] : undefined;
  return Array.isArray(checks) ? { acknowledged_safety_checks: checks as unknown as OpenAiSafetyCheck[] } : {}; // unchanged from the provider
}

const emptyPicture =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

function partOf(block: ContentBlock): OpenAiOutputPart | undefined {
  switch (block.type) {
    case "text":
      return { type: "input_text", text: block.text };
    case "image":
      return imageOf(block);
    case "file":
      return fileOf(block);
    default:
      return undefined;
  }
}

/** The bytes, or the place where the provider finds them. */
function imageOf(block: MediaBlock): OpenAiOutputPart | undefined {
  const { data, url, fileId: file_id } = block;
  if (data !== undefined) return { type: "input_image", image_url: dataUrl(block), detail: "auto" };
  if (url !== undefined) return { type: "input_image", image_url: url, detail: "auto" };
  return file_id === undefined ? undefined : { type: "input_image", file_id, detail: "auto" };
}

function fileOf(block: MediaBlock): OpenAiOutputPart | undefined {
  const { data, url: file_url, fileId: file_id, name: filename = "file" } = block;
  if (data !== undefined) return { type: "input_file", filename, file_data: dataUrl(block) };
  if (file_url !== undefined) return { type: "input_file", file_url };
  return file_id === undefined ? undefined : { type: "input_file", file_id };
}

function dataUrl({ mediaType, data = "" }: { readonly mediaType: string; readonly data?: string }): string {
  return `data:${mediaType};base64,${data}`;
}

function callerOf({ item }: ToolUse): { caller?: OpenAiCaller } {
  const caller = item?.["caller"];
  return isRecord(caller) ? { caller: caller as unknown as OpenAiCaller } : {}; // unchanged from the provider
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
