import type { CallToolResult } from "@modelcontextprotocol/server";
import { isJsonObject, type Json, readArtifactName, type ToolOutcome } from "@postern/core";
import { answerOf, relayedError } from "./answer.ts";
import type { CallParts } from "./call-parts.ts";
import { withBytes } from "./media.ts";
import { nameHere, type OfferTarget, promisesStructure } from "./offer.ts";
import { linkHere } from "./relay.ts";
import type { McpRequest } from "./request-source.ts";
import { relayedAt } from "./visible-servers.ts";

/**
 * The answer to a `tools/call`: what the outcome is for the client that asks, at its endpoint and in its revision.
 *
 * @throws RpcFault an error of an upstream server that only clients can act on
 */
export async function answered(
  outcome: ToolOutcome,
  target: OfferTarget,
  request: McpRequest,
  parts: CallParts,
): Promise<CallToolResult> {
  const relayed = relayedError(outcome);
  if (relayed !== undefined) throw relayed;
  const { runtime, console } = parts;
  const { source, isOld } = request;
  const offer = runtime.tools.offer(target.tool, target.action);
  const content = await withBytes(outcome.content, runtime.artifacts, source.caller.principal);
  const readsArtifacts = runtime.tools.has(readArtifactName);
  const given = answerOf({ ...outcome, content }, toolNameOf(target, request, parts), { console, readsArtifacts });
  const answer = linksHere(given, target, request, parts);
  return fitted(answer, isOld, promisesStructure(offer, isOld) ? textOf(answer) : undefined);
}

/** The name under which the client knows the tool. */
export function toolNameOf(
  { tool, action }: OfferTarget,
  { source, params }: McpRequest,
  { runtime }: CallParts,
): string {
  const offer = runtime.tools.offer(tool, action);
  if (typeof params["name"] === "string") return params["name"];
  return offer === undefined ? tool : nameHere(runtime, offer, source.server);
}

/** A link to a resource of the tool's server can be read at this endpoint. */
function linksHere(
  answer: CallToolResult,
  { tool, action }: OfferTarget,
  { source }: McpRequest,
  parts: CallParts,
): CallToolResult {
  const { server } = parts.runtime.tools.offer(tool, action)?.facts ?? {};
  const isLinked = answer.content.some(({ type }) => type === "resource_link" || type === "resource");
  if (!isLinked || server === undefined || source.server !== undefined || relayedAt(server, parts.runtime).length === 0)
    return answer;
  const content = answer.content.map((block) => linkHere(block as unknown as Json, server, source)); // plain JSON
  return { ...answer, content: content as unknown as CallToolResult["content"] };
}

/**
 * Before 2026-07-28 structured content must be an object. Any other value is in the text too.
 *
 * @param text the result's, when the tool is listed with an output schema: clients then refuse an answer without
 * structured content
 */
function fitted(answer: CallToolResult, isOld: boolean, text: string | undefined): CallToolResult {
  const { structuredContent, ...plain } = answer;
  const isMissing = structuredContent === undefined || (isOld && !isJsonObject(structuredContent));
  if (!isMissing) return answer;
  return text !== undefined && answer.isError !== true ? { ...plain, structuredContent: { text } } : plain;
}

function textOf({ content }: CallToolResult): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
