import type { JsonObject } from "@postern/core";
import type { LocalTool, Runtime, ToolAnswer, ToolContext } from "postern";
import { modelName } from "./names.ts";
import { shownOffer } from "./provider-schema.ts";

/** The name of our own tool search, for models whose provider has none. */
export const toolSearchName = "tool_search";

const input: JsonObject = {
  type: "object",
  properties: {
    query: { type: "string", description: "Words to look for in names and descriptions; empty for all tools." },
    format: { type: "string", enum: ["text", "schema"], description: "schema: with the arguments of each tool." },
  },
  additionalProperties: false,
};

/**
 * A tool that finds tools. With it, the model does not get tools marked `deferLoading` until it has found them. It
 * lists only what its caller may see, and never itself.
 *
 * @example
 * runtime.tools.register(toolSearch(runtime));
 *
 * @public
 */
export function toolSearch(runtime: Pick<Runtime, "offered">): LocalTool {
  return {
    name: toolSearchName,
    description: "Finds tools by words in their names and descriptions. Call a found tool by its name.",
    ...{ risk: "safe", effects: "read", idempotent: true, concurrencySafe: true, inputSchema: input },
    execute: (given, context) => found(given as { query?: string; format?: string }, context, runtime),
  };
}

function found(
  { query = "", format = "text" }: { readonly query?: string; readonly format?: string },
  { principal, runId, tools: only }: ToolContext,
  runtime: Pick<Runtime, "offered">,
): ToolAnswer {
  const words = query.toLowerCase();
  const tools = runtime
    .offered(principal, runId, only)
    .filter(({ tool }) => tool !== toolSearchName)
    .map((offer) => ({ name: modelName(offer), ...shownOffer(offer) }))
    .filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(words));
  if (tools.length === 0)
    return `No tool has "${query}" in its name or description. Try other words, or an empty query.`;
  if (format === "schema") return JSON.stringify(tools, undefined, 1);
  return tools.map(({ name, description }) => `${name}: ${description}`).join("\n");
}
