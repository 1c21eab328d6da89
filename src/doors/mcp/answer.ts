import type { CallToolResult, ContentBlock as McpBlock } from "@modelcontextprotocol/server";
import type { Json, JsonObject } from "../../calls/json.ts";
import type { ContentBlock, MediaBlock, ToolOutcome } from "../../calls/outcome.ts";
import { chainToolName } from "../../chains/names.ts";
import { shortTrace } from "../../chains/trace.ts";
import { type OpenRequest, openRequest } from "../wire.ts";

/** How whoever decides gets here. */
export interface People {
  /** How they type `postern`, with the flags that say which one is meant. */
  readonly command: string;
  /** Where they reach the console, once it listens. */
  readonly console?: (() => string | undefined) | undefined;
}

/**
 * An outcome as a tool result. Whatever is not `ok` is an error to the model, with a typed object that says which.
 *
 * @param people how they get here: what they type, and where they look
 */
export function answerOf(outcome: ToolOutcome, tool: string, people: People = { command: "postern" }): CallToolResult {
  const asked = openRequest(outcome);
  const how = asked === undefined ? "" : howToDecide(asked, people);
  const structured =
    asked === undefined ? structuredOf(outcome, tool) : pendingOf(outcome, asked, { how, page: people.console?.() });
  return {
    content:
      asked === undefined ? outcome.content.map(blockOf) : [{ type: "text", text: pendingText(tool, asked, how) }],
    ...(structured !== undefined && { structuredContent: structured }),
    isError: outcome.status !== "ok",
    _meta: {
      "postern/call-id": outcome.callId,
      "postern/status": asked === undefined ? outcome.status : "pending",
      ...(outcome.replayed === true && { "postern/replayed": true }),
      ...(outcome.artifact !== undefined && { "postern/artifact": outcome.artifact }),
    },
  };
}

function howToDecide({ id }: OpenRequest, { command, console }: People): string {
  const page = console?.();
  const there = page === undefined ? "the Postern console" : `the Postern console (${pageOf(page, id)})`;
  return `approve or deny it in ${there}, or with \`${command} approvals approve ${id}\``;
}

function pageOf(console: string, id: string): string {
  return `${console}/approvals/${encodeURIComponent(id)}`;
}

function pendingOf(
  { callId }: ToolOutcome,
  { id, expiresAt }: OpenRequest,
  { how, page }: { readonly how: string; readonly page: string | undefined },
): JsonObject {
  return {
    status: "approval_pending",
    call_id: callId,
    approval_id: id,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    how_to_approve: how,
    ...(page !== undefined && { url: pageOf(page, id) }),
    retry: "send the same call again",
  };
}

function pendingText(tool: string, { id, expiresAt }: OpenRequest, how: string): string {
  const until = expiresAt === undefined ? "" : ` It can be decided until ${expiresAt}.`;
  return `Not run yet: \`${tool}\` needs a person's approval, and the request ${id} is still open.${until} Tell the user: ${how}. Then send the same call again, with exactly the same arguments: it will run once, or say what was decided.`;
}

function structuredOf(outcome: ToolOutcome, tool: string): Json | undefined {
  const { status, refusal, preview } = outcome;
  const structured = tool === chainToolName ? shortTrace(outcome) : outcome.structured;
  if (refusal !== undefined) {
    const { code, message, retry, details } = refusal;
    return {
      status,
      code,
      message,
      retry,
      ...(details !== undefined && { details }),
      ...(structured !== undefined && { structured }),
    };
  }
  return preview === undefined ? structured : { status, preview: preview as unknown as Json }; // a preview is plain JSON
}

function blockOf(block: ContentBlock): McpBlock {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
    case "file":
      return mediaOf(block);
    case "resource": {
      const { uri, mediaType, text, data } = block;
      const described = { uri, ...(mediaType !== undefined && { mimeType: mediaType }) };
      if (text !== undefined) return { type: "resource", resource: { ...described, text } };
      return data === undefined
        ? { type: "resource_link", name: uri, ...described }
        : { type: "resource", resource: { ...described, blob: data } };
    }
    case "link": {
      const { uri, name, mediaType } = block;
      return {
        type: "resource_link",
        uri,
        name: name ?? uri,
        ...(mediaType !== undefined && { mimeType: mediaType }),
      };
    }
  }
}

/** Bytes that were kept instead of sent are linked: a later call names them as `{"$artifact": digest}`. */
function mediaOf({ type, mediaType, data, artifact, name }: MediaBlock): McpBlock {
  if (data === undefined)
    return {
      type: "resource_link",
      uri: `artifact:${artifact ?? ""}`,
      name: name ?? "artifact",
      mimeType: mediaType,
    };
  if (type !== "file") return { type, mimeType: mediaType, data };
  return {
    type: "resource",
    resource: {
      uri: `file:${encodeURIComponent(name ?? "file")}`,
      mimeType: mediaType,
      blob: data,
    },
  };
}
