import type { CallToolResult, ContentBlock as McpBlock, Tool } from "@modelcontextprotocol/server";
import {
  type ContentBlock,
  isJsonObject,
  type Json,
  type MediaBlock,
  readArtifactName,
  type ToolOutcome,
  textOf,
} from "@postern/core";
import { chainToolName } from "../../code-mode/names.ts";
import { shortTrace } from "../../code-mode/result.ts";
import { isStandIn } from "../../results/cut.ts";
import { type OpenRequest, openRequestOf, renderOutcome } from "../../results/render.ts";
import { iconsIn } from "../client/tool-list.ts";
import { RpcFault } from "../protocol/peer.ts";

/** The places where a reader finds more. */
export interface Places {
  /** The address of the console, when it listens. */
  readonly console?: (() => string | undefined) | undefined;
  /** Whether this caller is offered a tool that reads artifacts. */
  readonly readsArtifacts?: boolean | undefined;
}

/** The URI of an artifact, for `resources/read`. */
export function artifactUri(digest: string): string {
  return `artifact:${digest}`;
}

/** An outcome as a tool result. Every outcome other than `ok` is an error for the model, with an object that names it. */
export function answerOf(given: ToolOutcome, tool: string, places: Places = {}): CallToolResult {
  const asked = openRequestOf(given);
  const { content, structured, isError } = renderOutcome(given, {
    tool,
    page: asked && pageOf(asked, places),
    readOn: (digest, fromByte) => readOn(given, { digest, fromByte }, places),
    structuredOf: tool === chainToolName ? shortTrace : ownStructured,
  });
  const { callId, replayed, artifact, meta } = given;
  return {
    content: [...content.map(blockOf), ...(asked === undefined ? wholeOf(given) : [])],
    ...(structured !== undefined && { structuredContent: structured }),
    isError,
    _meta: {
      ...meta,
      "postern/call-id": callId,
      "postern/status": asked === undefined ? given.status : "pending",
      ...(replayed === true && { "postern/replayed": true }),
      ...(artifact !== undefined && { "postern/artifact": artifact }),
    },
  };
}

function readOn(
  outcome: ToolOutcome,
  { digest, fromByte }: { readonly digest: string; readonly fromByte: number },
  { readsArtifacts }: Places,
): string {
  const read = `read the resource ${artifactUri(digest)}`;
  const call = `call \`${readArtifactName}\` with {"artifact": "${digest}", "offset": ${fromByte}}`;
  const left = isStandIn(outcome) ? "; the structured content is there, too" : "";
  return `${readsArtifacts === true ? `${call}, or ${read}` : read}${left}`;
}

/** The whole of a cut result is linked. */
function wholeOf({ artifact, cut }: ToolOutcome): McpBlock[] {
  if (artifact === undefined || cut === undefined) return [];
  const { totalBytes: size } = cut;
  return [{ type: "resource_link", uri: artifactUri(artifact), name: "The whole result", size }];
}

/** The page of the console where people decide about a request. */
export function pageOf({ id }: Pick<OpenRequest, "id">, { console }: Places): string | undefined {
  const base = console?.();
  return base === undefined ? undefined : `${base}/approvals/${encodeURIComponent(id)}`;
}

/** A reference would not fit the tool's output schema, so it is left out; a cut text in its own member fits. */
function ownStructured(outcome: ToolOutcome): Json | undefined {
  const { cut, structured, text } = outcome;
  if (cut?.member !== undefined) return { [cut.member]: text };
  return isStandIn(outcome) ? undefined : structured;
}

function blockOf(block: ContentBlock): McpBlock {
  const { annotations = {}, meta } = block;
  const known = Object.entries(annotations).filter(([name, value]) => isAnnotation(name, value));
  const notes = {
    ...(known.length > 0 && { annotations: Object.fromEntries(known) }),
    ...(meta !== undefined && { _meta: meta }),
  };
  return { ...bareBlockOf(block), ...notes } as McpBlock; // the notes are MCP's own, passed on unchanged
}

function isMoment(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(text) && Number.isFinite(Date.parse(text))
  );
}

/** Clients refuse a whole answer for one annotation that the protocol does not have. */
function isAnnotation(name: string, value: Json): boolean {
  if (name === "audience") return Array.isArray(value) && value.every((one) => one === "user" || one === "assistant");
  if (name === "priority") return typeof value === "number" && value >= 0 && value <= 1;
  if (name === "lastModified") return typeof value === "string" && isMoment(value);
  return true;
}

function bareBlockOf(block: ContentBlock): McpBlock {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
    case "file":
      return mediaOf(block);
    case "resource": {
      const { uri, mediaType, text, data, artifact, resourceMeta } = block;
      const described = {
        uri,
        ...(mediaType !== undefined && { mimeType: mediaType }),
        ...(resourceMeta !== undefined && { _meta: resourceMeta }),
      };
      if (text !== undefined) return { type: "resource", resource: { ...described, text } };
      return data === undefined
        ? {
            type: "resource_link",
            name: uri,
            ...described,
            ...(artifact !== undefined && { uri: artifactUri(artifact) }),
          }
        : { type: "resource", resource: { ...described, blob: data } };
    }
    case "link": {
      const { uri, name, title, mediaType, icons, type: _, annotations: _a, meta: _m, ...rest } = block;
      const shown = iconsIn(icons);
      return {
        type: "resource_link",
        uri,
        name: name ?? title ?? uri,
        ...(title !== undefined && { title }),
        ...(mediaType !== undefined && { mimeType: mediaType }),
        ...(shown.length > 0 && { icons: shown as unknown as Tool["icons"] }), // checked
        ...(rest as { readonly description?: string; readonly size?: number }),
      };
    }
  }
}

/** Bytes that are kept as an artifact are linked: a later call can name them as `{"$artifact": digest}`. */
function mediaOf({ type, mediaType, data, artifact, url, fileId, name }: MediaBlock): McpBlock {
  if (data === undefined && fileId !== undefined && (artifact ?? url) === undefined)
    return { type: "text", text: textOf([{ type, mediaType, fileId, ...(name !== undefined && { name }) }]) };
  if (data === undefined) {
    const uri = artifact === undefined ? (url ?? "") : artifactUri(artifact);
    return {
      type: "resource_link",
      uri,
      name: name ?? (artifact === undefined ? type : "artifact"),
      mimeType: mediaType,
    };
  }
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

/** The client lacks a capability, or the user must sign in at an address. Only clients can act on these codes. */
const forClients: ReadonlySet<unknown> = new Set([-32_021, -32_042]);

/**
 * The upstream server's JSON-RPC error, if the client must receive it as an error. Returns undefined when the outcome is a
 * result for the model.
 */
export function relayedError({ refusal }: ToolOutcome): RpcFault | undefined {
  const details = refusal?.details;
  const error = isJsonObject(details) ? details["rpc_error"] : undefined;
  if (!isJsonObject(error) || !forClients.has(error["code"])) return undefined;
  const { code, message, data } = error;
  return new RpcFault(Number(code), String(message), data);
}
