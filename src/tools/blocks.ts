import type { ContentBlock } from "../calls/outcome.ts";
import { isRecord } from "./kinds.ts";
import { plain } from "./plain.ts";

/** A content block in whatever spelling a tool uses (ours, MCP's, snake_case); one of an unknown kind becomes its JSON. */
export function blockOf(block: unknown): ContentBlock {
  if (block instanceof Uint8Array) {
    return {
      type: "file",
      mediaType: "application/octet-stream",
      data: Buffer.from(block).toString("base64"),
    };
  }
  if (isRecord(block)) {
    const known = knownBlock(block);
    if (known !== undefined) return known;
  }
  return {
    type: "text",
    text: typeof block === "string" ? block.toWellFormed() : plain(block).text,
  };
}

function knownBlock(block: Record<string, unknown>): ContentBlock | undefined {
  const { type } = block;
  const text = textIn(block, "text");
  const data = dataIn(block);
  const uri = textIn(block, "uri", "url");
  switch (type) {
    case "text":
      return text === undefined ? undefined : { type, text };
    case "image":
    case "audio":
    case "file":
      return media(type, block, data);
    case "resource":
      return resource(isRecord(block["resource"]) ? block["resource"] : block);
    case "link":
    case "resource_link":
      return uri === undefined
        ? undefined
        : {
            type: "link",
            uri,
            ...optional("name", textIn(block, "name", "title")),
            ...optional("mediaType", mediaTypeOf(block)),
          };
    default:
      return undefined;
  }
}

const defaultMediaTypes = {
  image: "image/png",
  audio: "audio/wav",
  file: "application/octet-stream",
} as const;

function media(
  type: "image" | "audio" | "file",
  block: Record<string, unknown>,
  data: string | undefined,
): ContentBlock | undefined {
  const artifact = textIn(block, "artifact");
  if (data === undefined && artifact === undefined) return undefined;
  const mediaType = mediaTypeOf(block) ?? defaultMediaTypes[type];
  return {
    type,
    mediaType,
    ...optional("data", data),
    ...optional("artifact", artifact),
    ...optional("name", textIn(block, "name")),
  };
}

function resource(block: Record<string, unknown>): ContentBlock | undefined {
  const uri = textIn(block, "uri");
  if (uri === undefined) return undefined;
  return {
    type: "resource",
    uri,
    ...optional("mediaType", mediaTypeOf(block)),
    ...optional("text", textIn(block, "text")),
    ...optional("data", dataIn(block)),
  };
}

/** Base64 text, whether it was given as such or as bytes. */
function dataIn(block: Record<string, unknown>): string | undefined {
  const data = block["data"] ?? block["blob"];
  return data instanceof Uint8Array ? Buffer.from(data).toString("base64") : textIn(block, "data", "blob");
}

function mediaTypeOf(block: Record<string, unknown>): string | undefined {
  return textIn(block, "mediaType", "mimeType", "media_type", "mime_type");
}

function textIn(block: Record<string, unknown>, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = block[name];
    if (typeof value === "string") return value.toWellFormed();
  }
  return undefined;
}

function optional<Name extends string>(name: Name, value: string | undefined): { readonly [N in Name]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]?: string }); // exactly that one member
}
