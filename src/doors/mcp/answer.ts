import type { CallToolResult, ContentBlock as McpBlock } from "@modelcontextprotocol/server";
import { isJsonObject, type Json, type JsonObject } from "../../calls/json.ts";
import type { ContentBlock, MediaBlock, ToolOutcome } from "../../calls/outcome.ts";
import { shortTrace } from "../../chains/trace.ts";

/**
 * An outcome as a tool result. Whatever is not `ok` is an error to the model, with a typed object that says which.
 *
 * @param command how a person types `postern` here: with the flags that say which one is meant
 */
export function answerOf(outcome: ToolOutcome, tool: string, command = "postern"): CallToolResult {
  const asked = awaited(outcome);
  const how = `approve or deny it in the Postern console, or with \`${command} approvals approve ${asked?.id}\``;
  const structured = asked === undefined ? structuredOf(outcome) : pendingOf(outcome, asked, how);
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

interface Awaited {
  readonly id: string;
  /** ISO 8601. */
  readonly expiresAt: string | undefined;
}

/** The request a person has not decided yet: the call was not run, and is not over. */
function awaited({ status, approvalId, expiresAt, refusal }: ToolOutcome): Awaited | undefined {
  if (status !== "pending" && refusal?.code !== "approval_timed_out") return undefined;
  const details = isJsonObject(refusal?.details) ? refusal.details : {};
  const id = approvalId ?? details["approval_id"];
  const until = expiresAt === undefined ? details["expires_at"] : new Date(expiresAt).toISOString();
  return typeof id === "string" ? { id, expiresAt: typeof until === "string" ? until : undefined } : undefined;
}

function pendingOf({ callId }: ToolOutcome, { id, expiresAt }: Awaited, how: string): JsonObject {
  return {
    status: "approval_pending",
    call_id: callId,
    approval_id: id,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    how_to_approve: how,
    retry: "send the same call again",
  };
}

function pendingText(tool: string, { id, expiresAt }: Awaited, how: string): string {
  const until = expiresAt === undefined ? "" : ` It can be decided until ${expiresAt}.`;
  return `Not run yet: \`${tool}\` needs a person's approval, and the request ${id} is still open.${until} Tell the user: ${how}. Then send the same call again, with exactly the same arguments: it will run once, or say what was decided.`;
}

function structuredOf(outcome: ToolOutcome): Json | undefined {
  const { status, refusal, preview } = outcome;
  const structured = shortTrace(outcome);
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
