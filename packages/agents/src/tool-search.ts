import type { JsonObject } from "@postern/core";
import type { LocalTool, Runtime, ToolAnswer, ToolContext } from "postern";
import { ToolIndex } from "postern/tools";
import { modelName } from "./names.ts";
import { shownOffer } from "./provider-schema.ts";

/** The name of our own tool search, for models whose provider has none. */
export const toolSearchName = "tool_search";

const input: JsonObject = {
  type: "object",
  properties: {
    query: { type: "string", description: "What the tool should do, in a few words; empty for all tools." },
    format: { type: "string", enum: ["text", "schema"], description: "schema: with the arguments of each tool." },
  },
  additionalProperties: false,
};

/**
 * A tool that finds tools. With it, the model does not get tools marked `deferLoading` until it has found them. It
 * lists only what its caller may see, the best first, and never itself.
 *
 * @example
 * runtime.tools.register(toolSearch(runtime));
 *
 * @public
 */
export function toolSearch(runtime: Pick<Runtime, "offered" | "tools">): LocalTool {
  const index = new ToolIndex(runtime.tools);
  return {
    name: toolSearchName,
    description: "Finds tools by words in their names and descriptions. Call a found tool by its name.",
    ...{ risk: "safe", effects: "read", idempotent: true, concurrencySafe: true, inputSchema: input },
    execute: (given, context) => found(given as { query?: string; format?: string }, context, { runtime, index }),
  };
}

async function found(
  { query = "", format = "text" }: { readonly query?: string; readonly format?: string },
  { principal, runId, tools: only }: ToolContext,
  { runtime, index }: { readonly runtime: Pick<Runtime, "offered">; readonly index: ToolIndex },
): Promise<ToolAnswer> {
  const offers = runtime.offered(principal, runId, only).filter(({ tool }) => tool !== toolSearchName);
  const best = await index.find(query, offers);
  const tools = best.map((offer) => ({ name: modelName(offer), ...shownOffer(offer) }));
  if (tools.length === 0) return `No tool fits "${query}". Try other words, or an empty query.`;
  if (format === "schema") return JSON.stringify(tools, undefined, 1);
  return tools.map(({ name, description }) => `${name}: ${description}`).join("\n");
}
