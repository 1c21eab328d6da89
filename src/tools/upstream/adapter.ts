import type { Json, JsonObject } from "../../calls/json.ts";
import { LostAnswer } from "../../results/raw-result.ts";
import type { AnyTool, LocalTool } from "../kinds.ts";
import type { ToolAnswer, ToolContext } from "../tool.ts";
import { contentOf } from "./blocks.ts";
import type { ServerConfig } from "./server-config.ts";
import { termsOf } from "./terms.ts";
import type { UpstreamAnswer, UpstreamCall, UpstreamTool } from "./upstream.ts";

/** Calls a tool of the server by the server's own name for it. */
export type CallUpstream = (
  tool: string,
  given: JsonObject,
  call: UpstreamCall,
) => Promise<UpstreamAnswer | LostAnswer>;

const ownNames = new WeakMap<object, string>();

/** What a tool's server calls it; undefined for a tool of our own. */
export function ownNameOf(tool: AnyTool): string | undefined {
  return ownNames.get(tool);
}

/** An MCP tool as one of ours: same gates, same outcome, no special case (SPEC 13.1, case 242). */
export function adapt(
  name: string,
  tool: UpstreamTool,
  { config, call }: { readonly config: ServerConfig; readonly call: CallUpstream },
): LocalTool {
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
    toolType: "MCP",
    risk,
    effects,
    openWorld,
    idempotent,
    scopes,
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: async (input: unknown, context: ToolContext): Promise<ToolAnswer> => {
      const { signal, idempotencyKey } = context;
      const given = asJson(input) as JsonObject; // arguments are an object before and after their schema
      const answer = await call(tool.name, given, {
        signal,
        idempotencyKey,
        onProgress: (content, fraction) => context.progress(content, fraction),
      });
      if (answer instanceof LostAnswer) return answer as unknown as ToolAnswer; // `toRawResult` takes it
      const { content, structured, isError } = answer;
      return {
        content: contentOf(content),
        ...(structured !== undefined && { structured: structured as Json }), // `toRawResult` takes what is held too
        isError,
      };
    },
  };
  ownNames.set(adapted, tool.name);
  return adapted;
}

/** Bytes that stand for an artifact go as base64 (D13); everything else is JSON already. */
function asJson(value: unknown): Json {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value !== "object" || value === null) return value as Json; // a parsed argument's scalar
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asJson(inner)]));
}
