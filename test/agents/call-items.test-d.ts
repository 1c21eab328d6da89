/** The call items that the encoders read, against the SDKs' own types, with negative controls: each marked line must be an error. */
import type { ContentBlock, Message, ToolUseBlock } from "@anthropic-ai/sdk/resources/messages/messages";
import type { FunctionCall, GenerateContentResponse, Part } from "@google/genai";
import type {
  ChatCompletion,
  ChatCompletionMessage,
  ChatCompletionMessageToolCall,
} from "openai/resources/chat/completions";
import type { Response, ResponseOutputItem } from "openai/resources/responses/responses";
import { expectTypeOf } from "vitest";
import type { ToolUse } from "../../packages/agents/src/agent-tools.ts";
import type { anthropicToolUses } from "../../packages/agents/src/anthropic.ts";
import type { googleToolUses } from "../../packages/agents/src/google.ts";
import type {
  OpenAiCaller,
  OpenAiResultItem,
  openaiChatToolUses,
  openaiToolUses,
} from "../../packages/agents/src/openai.ts";

// A whole answer of each SDK is what the readers take.
expectTypeOf<ResponseOutputItem[]>().toExtend<Parameters<typeof openaiToolUses>[0]>();
expectTypeOf<ChatCompletionMessage>().toExtend<Parameters<typeof openaiChatToolUses>[0]>();
expectTypeOf<ContentBlock[]>().toExtend<Parameters<typeof anthropicToolUses>[0]>();
expectTypeOf<Part[]>().toExtend<Parameters<typeof googleToolUses>[0]>();
expectTypeOf<Response>().toExtend<Parameters<typeof openaiToolUses>[0]>();
expectTypeOf<ChatCompletion>().toExtend<Parameters<typeof openaiChatToolUses>[0]>();
expectTypeOf<Message>().toExtend<Parameters<typeof anthropicToolUses>[0]>();
expectTypeOf<GenerateContentResponse>().toExtend<Parameters<typeof googleToolUses>[0]>();

/** OpenAI's items that the reader knows, by the names it looks for. */
type Read =
  | "function_call"
  | "custom_tool_call"
  | "shell_call"
  | "local_shell_call"
  | "apply_patch_call"
  | "computer_call";
type Item<Type extends string> = Extract<ResponseOutputItem, { type: Type }>;

// Each of them is there, and each has a result item of ours.
expectTypeOf<Item<Read>["type"]>().toEqualTypeOf<Read>();
expectTypeOf<Exclude<`${Read}_output`, OpenAiResultItem["type"]>>().toBeNever();

// The members that are read have the types that are assumed.
expectTypeOf<Item<"function_call">>().toExtend<{ call_id: string; name: string; arguments: string }>();
expectTypeOf<NonNullable<Item<"function_call">["namespace"]>>().toEqualTypeOf<string>();
expectTypeOf<NonNullable<Item<"function_call">["caller"]>>().toExtend<OpenAiCaller>();
expectTypeOf<Item<"custom_tool_call">>().toExtend<{ call_id: string; name: string; input: string }>();
expectTypeOf<Item<"shell_call" | "apply_patch_call" | "computer_call">>().toExtend<{ call_id: string }>();
expectTypeOf<Item<"local_shell_call">>().toExtend<{ id: string; call_id: string }>();
expectTypeOf<Extract<ChatCompletionMessageToolCall, { type: "function" }>>().toExtend<{
  id: string;
  function: { name: string; arguments: string };
}>();
expectTypeOf<ToolUseBlock>().toExtend<{ type: "tool_use"; id: string; name: string; input: unknown }>();
expectTypeOf<NonNullable<ToolUseBlock["toolset_name"]>>().toEqualTypeOf<string>();
expectTypeOf<NonNullable<Part["functionCall"]>>().toEqualTypeOf<FunctionCall>();
expectTypeOf<NonNullable<FunctionCall["args"]>>().toExtend<object>();

// What is read is a use, whose arguments are text or an object.
expectTypeOf<ReturnType<typeof openaiToolUses>>().toEqualTypeOf<ToolUse[]>();
expectTypeOf<ReturnType<typeof googleToolUses>>().toEqualTypeOf<ToolUse[]>();

// @ts-expect-error OpenAI has no item of this type
expectTypeOf<Item<Read | "web_call">["type"]>().toEqualTypeOf<Read | "web_call">();
// @ts-expect-error a computer call has no name
expectTypeOf<Item<"computer_call">>().toExtend<{ name: string }>();
// @ts-expect-error OpenAI's arguments are text
expectTypeOf<Item<"function_call">>().toExtend<{ arguments: object }>();
// @ts-expect-error a custom call of Chat Completions has no function
expectTypeOf<ChatCompletionMessageToolCall>().toExtend<{ function: { name: string } }>();
// @ts-expect-error Anthropic's blocks are not all tool uses
expectTypeOf<ContentBlock>().toExtend<ToolUseBlock>();
// @ts-expect-error Gemini's calls may come without an id
expectTypeOf<FunctionCall>().toExtend<{ id: string }>();
