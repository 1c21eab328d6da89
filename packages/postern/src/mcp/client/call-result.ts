import type { Json, JsonObject } from "@postern/core";
import { ownMeta } from "../protocol/revisions.ts";
import type { Exchange } from "./exchange.ts";
import { lostCall, type UpstreamAnswer } from "./upstream.ts";

/** Members of a result that hold none of the tool's data. */
const envelope: ReadonlySet<string> = new Set(["content", "structuredContent", "isError", "_meta", "resultType"]);

/**
 * The answer in the result of a `tools/call`. A server that answers has run the tool, so whatever it sent is its answer, also
 * what the protocol does not have.
 *
 * @throws Error, an unknown outcome, if its result is of another type and holds nothing
 */
export function answerIn(
  tool: string,
  { result = {}, large, asText }: Pick<Exchange, "result" | "large" | "asText">,
  isModern: boolean,
): UpstreamAnswer {
  const { content, structuredContent, resultType, isError } = result;
  const isOther = isModern && typeof resultType === "string" && resultType !== "complete";
  if (isOther && content === undefined && structuredContent === undefined)
    throw lostCall(
      `Tool \`${tool}\`: its server answered with a \`${resultType.slice(0, 60)}\`, which Postern does not take`,
    );
  const structured = large ?? structuredIn(result);
  const meta = ownMeta(result["_meta"]);
  return {
    content: blocksIn(result),
    isError: isError === true || isError === "true" || isError === 1,
    ...(structured !== undefined && { structured }),
    ...(meta !== undefined && { _meta: meta }),
    asText,
  };
}

function blocksIn({ content, toolResult }: JsonObject): readonly unknown[] {
  if (Array.isArray(content)) return content;
  const only = content ?? (typeof toolResult === "string" ? toolResult : undefined);
  return only === undefined ? [] : [typeof only === "string" ? { type: "text", text: only } : only];
}

/** Servers of 2024-10 answer with `toolResult`, and some with members of their own. */
function structuredIn(result: JsonObject): Json | undefined {
  const { structuredContent, content, toolResult } = result;
  if (structuredContent !== undefined || content !== undefined) return structuredContent;
  if (toolResult !== undefined) return typeof toolResult === "string" ? undefined : toolResult;
  const own = Object.fromEntries(Object.entries(result).filter(([name]) => !envelope.has(name)));
  return Object.keys(own).length === 0 ? undefined : own;
}
