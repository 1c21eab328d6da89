import type { Json, JsonObject } from "../../core/json.ts";
import { LargeJson } from "../../results/large-json.ts";
import { LostAnswer } from "../../results/raw-result.ts";
import { learnIn } from "../../secrets/lend.ts";
import type { AnyTool, LocalTool } from "../../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { readsUi, type UiPage } from "../../tools/ui.ts";
import { contentOf } from "./blocks.ts";
import { nameHere } from "./listed-tools.ts";
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

/** What a tool is called among those of its server; undefined for a tool of our own. */
export function ownNameOf(tool: AnyTool): string | undefined {
  return ownNames.get(tool);
}

export interface AdaptParts {
  readonly config: ServerConfig;
  readonly call: CallUpstream;
  readonly readUi?: ReadUi;
  /** Secrets of its server that no runtime knows. */
  readonly known?: Iterable<string>;
}

/** An MCP tool as one of ours: same gates, same outcome, no special case (SPEC 13.1, case 242). */
export function adapt(name: string, tool: UpstreamTool, { config, call, readUi, known = [] }: AdaptParts): LocalTool {
  const uri = uiUriOf(tool);
  const { risk, effects, openWorld, idempotent, scopes, timeoutMs, annotations } = termsOf(tool, config);
  const adapted: LocalTool = {
    name,
    ...(tool.title !== undefined && { title: tool.title }),
    description: tool.description ?? "",
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
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: async (input: unknown, context: ToolContext): Promise<ToolAnswer> => {
      const { signal, idempotencyKey } = context;
      learnIn(context.secrets, known);
      const given = asJson(input) as JsonObject; // arguments are an object before and after their schema
      const answer = await call(tool.name, given, {
        signal,
        idempotencyKey,
        onProgress: (content, fraction) => context.progress(content, fraction),
      });
      if (answer instanceof LostAnswer) return answer as unknown as ToolAnswer; // `toRawResult` takes it
      const { content, structured, isError } = answer;
      return {
        content: [...contentOf(content), ...notesOn(answer, tool)],
        ...(structured !== undefined && { structured: structured as Json }), // `toRawResult` takes a `LargeJson` too
        isError,
      };
    },
  };
  if (uri !== undefined && readUi !== undefined) readsUi(adapted, () => readUi(name, uri));
  ownNames.set(adapted, nameAmongItsOwn(name, nameHere(tool.name, config)));
  return adapted;
}

/** What a reader must know of an answer and cannot see in it. */
function notesOn(answer: UpstreamAnswer, tool: UpstreamTool): TextBlock[] {
  const { content, structured, isError, asText = [] } = answer;
  const notes: string[] = [];
  if (tool.outputSchema !== undefined && structured === undefined && !isError)
    notes.push("The tool declares structured output, and its server answered without it.");
  // Text is as it was sent; only what is text here and was a number there is named.
  const places = asText.filter((place) => !place.startsWith("content"));
  if (places.length > 0)
    notes.push(
      `Numbers that do not fit into a double are given as text, exactly as they were sent: ${places.map((place) => `\`${place}\``).join(", ")}.`,
    );
  if (notes.length === 0) return [];
  const text = notes.map((note) => `Note from Postern: ${note}`).join("\n");
  // Where the structured content is all there is, its text comes first.
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

/** A name of other than ASCII characters could pass for another one: it is written as in the public name. */
function nameAmongItsOwn(publicName: string, own: string): string {
  return /^[ -~]+$/.test(own) ? own : publicName.slice(publicName.indexOf("__") + 2);
}

/** Bytes that stand for an artifact go as base64 (D13); everything else is JSON already. */
function asJson(value: unknown): Json {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value !== "object" || value === null) return value as Json; // a parsed argument's scalar
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asJson(inner)]));
}
