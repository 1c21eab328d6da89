/** The encoders' types against the providers' own, with negative controls: each marked line must be an error. */
import type { ToolResultBlockParam, ToolUnion } from "@anthropic-ai/sdk/resources/messages/messages";
import type { FunctionResponse, Tool as GoogleSdkTool } from "@google/genai";
import type { ChatCompletionTool, ChatCompletionToolMessageParam } from "openai/resources/chat/completions";
import type { Tool as OpenAiSdkTool, ResponseInputItem } from "openai/resources/responses/responses";
import { expectTypeOf } from "vitest";
import type { AnthropicContent, AnthropicResult, AnthropicTool } from "../../packages/agents/src/anthropic.ts";
import type { GoogleFunction, GoogleFunctionResponse } from "../../packages/agents/src/google.ts";
import type {
  OpenAiChatTool,
  OpenAiFunctionTool,
  OpenAiResultItem,
  openaiChatResult,
} from "../../packages/agents/src/openai.ts";

expectTypeOf<OpenAiFunctionTool>().toExtend<OpenAiSdkTool>();
expectTypeOf<OpenAiResultItem>().toExtend<ResponseInputItem>();
expectTypeOf<OpenAiChatTool>().toExtend<ChatCompletionTool>();
expectTypeOf<ReturnType<typeof openaiChatResult>>().toExtend<ChatCompletionToolMessageParam>();
expectTypeOf<AnthropicTool>().toExtend<ToolUnion>();
expectTypeOf<AnthropicResult>().toExtend<ToolResultBlockParam>();
expectTypeOf<{ functionDeclarations: GoogleFunction[] }>().toExtend<GoogleSdkTool>();
expectTypeOf<GoogleFunctionResponse>().toExtend<Pick<FunctionResponse, "id" | "name" | "response" | "parts">>();

// @ts-expect-error a Chat Completions function is no tool of the Responses API
expectTypeOf<OpenAiChatTool>().toExtend<OpenAiSdkTool>();
// @ts-expect-error `strict` is required at OpenAI
expectTypeOf<Omit<OpenAiFunctionTool, "strict">>().toExtend<OpenAiSdkTool>();
// @ts-expect-error an Anthropic tool is no OpenAI tool
expectTypeOf<AnthropicTool>().toExtend<OpenAiSdkTool>();
// @ts-expect-error Anthropic's results name a tool use
expectTypeOf<Omit<AnthropicResult, "tool_use_id">>().toExtend<ToolResultBlockParam>();
// @ts-expect-error Anthropic takes four image types
({ type: "image", source: { type: "base64", media_type: "image/tiff", data: "" } }) satisfies AnthropicContent;
