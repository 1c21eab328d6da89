/** Any language model of the AI SDK (provider interface v4) as the model of an agent. */
import { isRecord, type Json, type JsonObject } from "@postern/core";
import type { AgentMessage, AgentModel, AnsweredUse, ModelRequest, ModelTool, ModelTurn } from "./model.ts";

/** The members of a `LanguageModelV4` that are used. */
export interface AiSdkLanguageModel {
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: object): PromiseLike<{ readonly content: readonly object[]; readonly usage: AiSdkUsage }>;
  doStream(options: object): PromiseLike<{ readonly stream: ReadableStream<object> }>;
}

export interface AiSdkUsage {
  readonly inputTokens: { readonly total: number | undefined };
  readonly outputTokens: { readonly total: number | undefined };
}

/** A part of a model's message, in the AI SDK's form. */
type MessagePart = JsonObject;

/**
 * Takes a model of the AI SDK. A hosted or provider-defined tool is sent when its `providerSpecs` has an entry `ai_sdk` of
 * the form `{ id: "openai.web_search", args: {} }`.
 *
 * @example
 * const agent = createAgent({ runtime, model: aiSdkModel(openai("gpt-5")) });
 *
 * @public
 */
export function aiSdkModel(model: AiSdkLanguageModel): AgentModel {
  return {
    provider: model.provider,
    modelId: model.modelId,
    generate: async (request) => {
      const options = callOptions(request);
      if (request.onText !== undefined) return streamed(model, options, request.onText);
      const { content, usage } = await model.doGenerate(options);
      return turnOf(content as readonly MessagePart[], usage); // the model's parts are JSON
    },
  };
}

function callOptions({ system, messages, tools, signal }: ModelRequest): object {
  return {
    prompt: [...(system === "" ? [] : [{ role: "system", content: system }]), ...messages.map(messageOf)],
    ...(tools.length > 0 && { tools: tools.flatMap(toolOf), toolChoice: { type: "auto" } }),
    ...(signal !== undefined && { abortSignal: signal }),
  };
}

function toolOf({ name, description, parameters, providerSpecs }: ModelTool): object[] {
  if (providerSpecs === undefined) return [{ type: "function", name, description, inputSchema: parameters }];
  const own = providerSpecs["ai_sdk"];
  return isRecord(own) ? [{ type: "provider", name, args: {}, ...own }] : [];
}

function messageOf(message: AgentMessage): object {
  switch (message.role) {
    case "user":
      return { role: "user", content: [{ type: "text", text: message.text }] };
    case "assistant":
      return {
        role: "assistant",
        content: (message.raw as readonly MessagePart[] | undefined)?.flatMap(partBack) ?? partsOf(message),
      };
    case "tool":
      return { role: "tool", content: message.answers.map(resultPart) };
  }
  return message satisfies never;
}

/** The parts of a turn of another model: only text and calls. */
function partsOf({ text, uses }: AgentMessage & { readonly role: "assistant" }): object[] {
  const textParts = text === "" ? [] : [{ type: "text", text }];
  return [
    ...textParts,
    ...uses.map(({ id, name, arguments: input }) => ({ type: "tool-call", toolCallId: id, toolName: name, input })),
  ];
}

/** A part in the next prompt, with the provider's own metadata. */
function partBack(part: MessagePart): object[] {
  const { type, providerMetadata, ...rest } = part;
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  switch (type) {
    case "text":
    case "reasoning":
    case "reasoning-file":
    case "custom":
      return [{ type, ...rest, ...options }];
    case "tool-call":
      return [{ type, ...rest, input: inputOf(part["input"]), ...options }];
    case "tool-result": {
      const { toolCallId, toolName, result, isError } = part;
      return [
        {
          type,
          toolCallId,
          toolName,
          output: { type: isError === true ? "error-json" : "json", value: result },
          ...options,
        },
      ];
    }
    default:
      return []; // sources and files are for people
  }
}

/** A prompt needs an object, but the model may have written other text. */
function inputOf(input: Json | undefined): Json {
  if (typeof input !== "string") return input ?? {};
  try {
    return JSON.parse(input) as Json;
  } catch {
    return { unreadable: input };
  }
}

function resultPart({ use, text, content, isError }: AnsweredUse): object {
  const call = { type: "tool-result", toolCallId: use.id, toolName: use.name };
  if (isError) return { ...call, output: { type: "error-text", value: text } };
  const media = content.flatMap((block) =>
    (block.type === "image" || block.type === "file" || block.type === "audio") && block.data !== undefined
      ? [{ type: "file", mediaType: block.mediaType, data: { type: "data", data: block.data } }]
      : [],
  );
  if (media.length === 0) return { ...call, output: { type: "text", value: text } };
  return { ...call, output: { type: "content", value: [{ type: "text", text }, ...media] } };
}

function turnOf(content: readonly MessagePart[], { inputTokens, outputTokens }: AiSdkUsage): ModelTurn {
  const text = content.flatMap((part) => (part["type"] === "text" ? [String(part["text"])] : [])).join("");
  const uses = content.flatMap((part) =>
    part["type"] === "tool-call" && part["providerExecuted"] !== true
      ? [{ id: String(part["toolCallId"]), name: String(part["toolName"]), arguments: part["input"] }]
      : [],
  );
  const usage = {
    ...(inputTokens.total !== undefined && { inputTokens: inputTokens.total }),
    ...(outputTokens.total !== undefined && { outputTokens: outputTokens.total }),
  };
  return { text, uses, raw: content, usage };
}

async function streamed(
  model: AiSdkLanguageModel,
  options: object,
  onText: (text: string) => void,
): Promise<ModelTurn> {
  const { stream } = await model.doStream(options);
  const open = new Map<string, MessagePart & { text: string }>();
  const content: MessagePart[] = [];
  let usage: AiSdkUsage = { inputTokens: { total: undefined }, outputTokens: { total: undefined } };
  for await (const chunk of stream as unknown as AsyncIterable<MessagePart>) {
    const { type, id = "", delta = "", providerMetadata } = chunk;
    const block = /^(text|reasoning)-(start|delta|end)$/.exec(String(type));
    if (block !== null) {
      const key = `${block[1]}:${String(id)}`;
      const part = open.get(key) ?? { type: String(block[1]), text: "" };
      part.text += String(delta);
      if (providerMetadata !== undefined) Object.assign(part, { providerMetadata });
      if (!open.has(key)) content.push(part);
      open.set(key, part);
      if (type === "text-delta") onText(String(delta));
    } else if (type === "error") throw chunk["error"];
    else if (type === "finish") usage = chunk["usage"] as unknown as AiSdkUsage;
    else if (type === "tool-call" || type === "tool-result" || type === "custom" || type === "reasoning-file")
      content.push(chunk);
  }
  return turnOf(content, usage);
}
