/**
 * Endpoints that list a few tools instead of all: a model finds and describes tools on demand, so that very many tools do not
 * fill its context. A tool that it calls passes the same way as one that is listed.
 *
 * - `?mode=search`: `search_tools`, `describe_tool` and `call_tool`.
 * - `?mode=code`: `tool_chain`, whose scripts call the tools, with `search_tools` and `describe_tool`.
 * - without a mode: all tools, with `tool_search` instead of those that are deferred (deferred.ts).
 */
import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { isJsonObject, type Json, type JsonObject, shown } from "@postern/core";
import { chainToolName } from "../../code-mode/names.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { Offer } from "../../tools/tool.ts";
import type { ToolIndex } from "../../tools/tool-index.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { callerAt, deferredAmong, type FoundTools, toolSearchName } from "./deferred.ts";
import { asTask, nameHere, shownOffers, toolList } from "./offer.ts";
import type { McpRequest, RequestSource } from "./request-source.ts";
import type { Subscriptions } from "./subscriptions.ts";

const usualLimit = 10;
const mostFound = 50;
/** In characters. A search looks for words that are like each word of the query. */
const longestQuery = 1_000;
function object(properties: JsonObject, required: readonly string[]): Tool["inputSchema"] {
  const schema = { type: "object", properties, required, additionalProperties: false } as const;
  return schema as unknown as Tool["inputSchema"]; // plain JSON
}

const reads = { readOnlyHint: true, openWorldHint: false };

const searchTools: Tool = {
  name: "search_tools",
  description:
    "Finds tools by words in their names and descriptions, the best first. Then read a tool's arguments with `describe_tool`.",
  inputSchema: object(
    {
      query: { type: "string", description: "What the tool should do, in a few words. Empty: all tools by name." },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: mostFound,
        description: `How many to list. Default: ${usualLimit}.`,
      },
    },
    ["query"],
  ),
  annotations: reads,
};

/** Each found tool is listed whole from then on, so it finds fewer. */
const usualDeferred = 5;

const toolSearch: Tool = {
  name: toolSearchName,
  description:
    "Finds more tools by words in their names and descriptions. The found tools are then in the list of tools.",
  inputSchema: object(
    {
      query: { type: "string", description: "What the tool should do, in a few words." },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: mostFound,
        description: `How many to find. Default: ${usualDeferred}.`,
      },
    },
    ["query"],
  ),
  annotations: reads,
};

const describeTool: Tool = {
  name: "describe_tool",
  description: "Describes tools whole: what each does, and the JSON Schema of its arguments.",
  inputSchema: object({ names: { type: "array", items: { type: "string" }, minItems: 1, maxItems: mostFound } }, [
    "names",
  ]),
  annotations: reads,
};

const callTool: Tool = {
  name: "call_tool",
  description: "Calls a tool by its name. Describe it first: its arguments must fit its schema.",
  inputSchema: object(
    { name: { type: "string" }, arguments: { type: "object", description: "The arguments of the tool itself." } },
    ["name"],
  ),
};

export interface ModeParts {
  readonly runtime: Runtime;
  readonly index: ToolIndex;
  readonly found: FoundTools;
  readonly subscriptions: Subscriptions;
}

/** What an endpoint lists in its mode. */
export function listIn(source: RequestSource, isOld: boolean, { runtime, found }: Omit<ModeParts, "index">): Tool[] {
  const { mode } = source;
  const offers = shownOffers(runtime, source);
  if (mode === "search") return [isOld ? { ...callTool, execution: asTask } : callTool, describeTool, searchTools];
  if (mode === "code") {
    const chain = offers.filter(({ tool }) => tool === chainToolName);
    return [...toolList(runtime, source, isOld, chain), describeTool, searchTools];
  }
  const deferred = deferredAmong(offers, runtime, source);
  if (deferred.length === 0) return toolList(runtime, source, isOld, offers);
  const hidden = new Set(deferred.filter((offer) => !found.has(source, offer)));
  const listed = offers.filter((offer) => !hidden.has(offer));
  return [toolSearch, ...toolList(runtime, source, isOld, listed)];
}

/**
 * A call of one of the tools above: its answer, or the call of another tool that it stands for.
 *
 * @throws RpcFault for arguments of a wrong type
 */
export async function inMode(request: McpRequest, parts: ModeParts): Promise<CallToolResult | McpRequest> {
  const { mode } = request.source;
  const { name, arguments: given } = request.params;
  const args = isJsonObject(given) ? given : {};
  if (mode === undefined) return name === toolSearchName ? searched(request, args, parts) : request;
  if (name === "search_tools") {
    const offers = await found(args, shownOffers(parts.runtime, request.source), usualLimit, parts);
    return linesOf(args, offers, request.source, parts);
  }
  if (name === "describe_tool") return described(args, request.source, parts.runtime);
  if (mode === "search" && name === "call_tool") return standsFor(request, args);
  if (mode === "code" && name === chainToolName) return request;
  const here = listIn(request.source, request.isOld, parts).map((tool) => `\`${tool.name}\``);
  return refusal(`This endpoint lists ${here.join(", ")}; another tool is called through them.`);
}

/** The search among deferred tools. The client is told when its list of tools grows. */
async function searched(request: McpRequest, args: JsonObject, parts: ModeParts): Promise<CallToolResult | McpRequest> {
  const { source, isOld } = request;
  const deferred = deferredAmong(shownOffers(parts.runtime, source), parts.runtime, source);
  if (deferred.length === 0) return request; // another tool of this name, or none
  const offers = await found(args, deferred, usualDeferred, parts);
  if (await parts.found.add(source, offers)) {
    if (isOld) request.tell("notifications/tools/list_changed", {});
    else parts.subscriptions.tellMoreTools((other) => callerAt(other) === callerAt(source));
  }
  return linesOf(args, offers, source, parts);
}

async function found(
  { query = "", limit }: JsonObject,
  among: readonly Offer[],
  usual: number,
  { index }: ModeParts,
): Promise<readonly Offer[]> {
  const most = limit ?? usual;
  if (typeof query !== "string" || query.length > longestQuery)
    throw wrong("query", query, `a text of at most ${longestQuery} characters`);
  if (typeof most !== "number" || !Number.isInteger(most) || most < 1)
    throw wrong("limit", most, "a whole number from 1");
  return index.find(query, among, Math.min(most, mostFound));
}

function linesOf(
  { query = "" }: JsonObject,
  offers: readonly Offer[],
  { server }: RequestSource,
  { runtime }: ModeParts,
): CallToolResult {
  if (offers.length === 0)
    return text(`No tool has a word of ${shown(query)} in its name or description; try other words.`);
  return text(offers.map((offer) => `${nameHere(runtime, offer, server)}: ${firstLine(offer.description)}`).join("\n"));
}

function described({ names }: JsonObject, source: RequestSource, runtime: Runtime): CallToolResult {
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string"))
    throw wrong("names", names, "a list of texts");
  const offers = new Map(shownOffers(runtime, source).map((offer) => [nameHere(runtime, offer, source.server), offer]));
  const unknown = names.filter((name) => !offers.has(name));
  if (unknown.length > 0)
    return refusal(
      `There is no tool ${unknown.map((name) => shown(name)).join(", ")} here; find names with \`search_tools\`.`,
    );
  const tools = names.flatMap((name): Json[] => {
    const offer = offers.get(name);
    return offer === undefined ? [] : [schemaOf(name, offer)];
  });
  return text(JSON.stringify(tools, undefined, 1));
}

function schemaOf(name: string, { description, inputSchema, facts }: Offer): JsonObject {
  return { name, description, risk: facts.risk, inputSchema };
}

function standsFor(request: McpRequest, { name, arguments: given = {} }: JsonObject): McpRequest {
  if (typeof name !== "string") throw wrong("name", name, "a text");
  if (!isJsonObject(given)) throw wrong("arguments", given, "an object");
  return { ...request, params: { ...request.params, name, arguments: given } };
}

function firstLine(description: string): string {
  const [line = ""] = description.trim().split("\n", 1);
  return line.length > 200 ? `${line.slice(0, 200).toWellFormed()}…` : line;
}

function text(words: string): CallToolResult {
  return { content: [{ type: "text", text: words }], isError: false };
}

function refusal(words: string): CallToolResult {
  return { content: [{ type: "text", text: words }], isError: true };
}

function wrong(name: string, value: unknown, wanted: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, `\`${name}\` is ${shown(value)}; it must be ${wanted}.`);
}
