import { type ContentBlock, isJsonObject, type Json, type JsonObject } from "@postern/core";
import { withActiveContext } from "@postern/core/tracing";
import { ToolCallContext } from "../../pipeline/context.ts";
import { LargeJson } from "../../results/large-json.ts";
import { LostAnswer } from "../../results/raw-result.ts";
import { learnIn } from "../../secrets/lend.ts";
import { blockOf } from "../../tools/blocks.ts";
import type { AnyTool, LocalTool } from "../../tools/kinds.ts";
import { type MissingFor, withMissing } from "../../tools/sign-in-needed.ts";
import type { PreviewContext, ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { readsUi, type UiPage } from "../../tools/ui.ts";
import { localToolName } from "./listed-tools.ts";
import type { ServerConfig } from "./server-config.ts";
import { termsOf } from "./terms.ts";
import { uiUriOf } from "./ui.ts";
import type { UpstreamAnswer, UpstreamCall, UpstreamTool } from "./upstream.ts";

/** Calls a tool of the server by the server's own name for it. */
export type CallUpstream = (
  tool: string,
  given: JsonObject,
  call: UpstreamCall,
) => Promise<UpstreamAnswer | LostAnswer>;

/** Reads the page of a tool, by the tool's name here. */
export type ReadUi = (tool: string, uri: string) => Promise<UiPage>;

const ownNames = new WeakMap<object, string>();

/** The name of a tool at its server's own endpoint. Returns undefined for a tool that no server has. */
export function ownNameOf(tool: AnyTool): string | undefined {
  return ownNames.get(tool);
}

export interface AdaptOptions {
  readonly config: ServerConfig;
  readonly call: CallUpstream;
  readonly readUi?: ReadUi;
  /** Shows what a call would do. Left out: there is no preview. */
  readonly preview?: ((given: JsonObject, context: PreviewContext) => Promise<Json>) | undefined;
  /** What a person has to do before a call can go out. */
  readonly missing?: MissingFor | undefined;
  /** Secrets of its server that the runtime does not know. */
  readonly known?: Iterable<string>;
}

/** Turns an MCP tool into a local tool, with the same gates and the same outcome. */
export function adapt(
  name: string,
  tool: UpstreamTool,
  { config, call, readUi, preview, missing, known = [] }: AdaptOptions,
): LocalTool {
  const uri = uiUriOf(tool);
  const { risk, effects, openWorld, idempotent, scopes, timeoutMs, deferLoading, description, annotations } = termsOf(
    tool,
    config,
  );
  const adapted: LocalTool = {
    name,
    ...(tool.title !== undefined && { title: tool.title }),
    description,
    input: tool.inputSchema,
    ...(tool.outputSchema !== undefined && { outputSchema: tool.outputSchema }),
    annotations,
    ...(tool.icons !== undefined && { icons: tool.icons }),
    ...(tool._meta !== undefined && { meta: tool._meta }),
    ...(uri !== undefined && { ui: { resourceUri: uri } }),
    toolType: "MCP",
    risk,
    effects,
    openWorld,
    idempotent,
    scopes,
    ...(deferLoading && { deferLoading }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(preview !== undefined && {
      preview: (input: unknown, context: PreviewContext) => preview(asJson(input) as JsonObject, context), // arguments are an object
    }),
    execute: async (input: unknown, context: ToolContext): Promise<ToolAnswer> => {
      learnIn(context.secrets, known);
      const given = asJson(input) as JsonObject; // arguments are an object before and after their schema
      const answer = await call(tool.name, given, upstreamCallOf(context));
      if (answer instanceof LostAnswer) return answer as unknown as ToolAnswer; // `toRawResult` takes it
      const { content, structured, _meta, isError } = answer;
      return {
        content: [...contentOf(content), ...notesOn(answer, tool)],
        ...(structured !== undefined && { structured: structured as Json }), // `toRawResult` takes a `LargeJson` too
        ...(_meta !== undefined && { _meta }),
        isError,
      };
    },
  };
  if (uri !== undefined && readUi !== undefined) readsUi(adapted, () => readUi(name, uri));
  if (missing !== undefined) withMissing(adapted, missing);
  ownNames.set(adapted, nameAmongItsOwn(name, localToolName(tool.name, config)));
  return adapted;
}

/** A call of an upstream server, as the tool that stands for it was called. */
export function upstreamCallOf(context: ToolContext): UpstreamCall {
  const { signal, idempotencyKey } = context;
  const inside = ToolCallContext.inside(context);
  return {
    signal,
    idempotencyKey,
    caller: () => callerOf(context),
    onProgress: (content, fraction, count) => context.progress(content, fraction, count),
    principal: inside?.call.authority.principal,
    meta: withActiveContext(inside?.caller.requestMeta),
    client: inside?.caller.client,
  };
}

export function callerOf({ principal }: Pick<ToolContext, "principal">): string {
  const { tenant, agent, user } = principal;
  return JSON.stringify([tenant, agent, user]);
}

/** Notes about an answer that a reader cannot see in it. */
function notesOn(answer: UpstreamAnswer, tool: UpstreamTool): TextBlock[] {
  const { content, structured, isError, asText = [] } = answer;
  const notes: string[] = [];
  if (tool.outputSchema !== undefined && structured === undefined && !isError)
    notes.push("The tool declares structured output, and its server answered without it.");
  // Text content is as it was sent, so only numbers that became texts are named.
  const places = asText.filter((place) => !place.startsWith("content"));
  if (places.length > 0)
    notes.push(
      `Numbers that do not fit into a double are given as text, exactly as they were sent: ${places.map((place) => `\`${place}\``).join(", ")}.`,
    );
  if (notes.length === 0) return [];
  const text = notes.map((note) => `Note from Postern: ${note}`).join("\n");
  // If the answer has only structured content, its text comes first.
  const before =
    content.length === 0 && structured !== undefined && !(structured instanceof LargeJson)
      ? [textBlock(JSON.stringify(structured))]
      : [];
  return [...before, textBlock(text)];
}

interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

function textBlock(text: string): TextBlock {
  return { type: "text", text };
}

/** A name with characters other than ASCII could look like another name, so it is written as in the public name. */
function nameAmongItsOwn(publicName: string, own: string): string {
  return /^[ -~]+$/.test(own) ? own : publicName.slice(publicName.indexOf("__") + 2);
}

/** Turns the bytes of an artifact into base64; all other values are JSON already. */
function asJson(value: unknown): Json {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value !== "object" || value === null) return value as Json; // a parsed argument's scalar
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asJson(inner)]));
}

/** The kinds of blocks that a server may send; our own `file` and `artifact` are not among them. */
const kinds: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** A server's blocks as ours. Never throws: a block of an unknown kind, or without usable bytes, becomes its JSON text. */
export function contentOf(blocks: readonly unknown[]): readonly ContentBlock[] {
  return blocks.map((block) => {
    const known = isJsonObject(block) && kinds.has(block["type"]) ? withPlainBytes(block) : undefined;
    if (known === undefined) return textBlock(JSON.stringify(block) ?? "");
    const { artifact: _, ...sent } = known;
    return blockOf(sent);
  });
}

/** The block with its bytes as base64, the only form that clients take. Returns undefined if they cannot be read. */
function withPlainBytes(block: JsonObject): JsonObject | undefined {
  const { resource } = block;
  if (isJsonObject(resource)) {
    const plain = withPlainBytes(resource);
    return plain === resource ? block : plain && { ...block, resource: plain };
  }
  const name = typeof block["data"] === "string" ? "data" : "blob";
  const bytes = block[name];
  if (typeof bytes !== "string") return block;
  const [, mimeType, inside = bytes] = /^data:([^;,]*)(?:;[^;,]*)*;base64,(.*)$/s.exec(bytes) ?? [];
  if (/[^A-Za-z0-9+/_=\s-]/.test(inside)) return undefined;
  const plain =
    /[-_\s]/.test(inside) || inside.length % 4 !== 0 ? Buffer.from(inside, "base64").toString("base64") : inside;
  if (plain === bytes) return block;
  return { ...(mimeType !== undefined && mimeType !== "" && { mimeType }), ...block, [name]: plain };
}
