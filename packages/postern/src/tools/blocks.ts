import { type ContentBlock, defined, isJsonObject, isRecord, type Json, type JsonObject } from "@postern/core";
import { plain } from "./schema/plain.ts";

/** A content block in the form of Postern, of MCP or of a model provider, in camelCase or snake_case. A block of an unknown kind becomes its JSON. */
export function blockOf(block: unknown): ContentBlock {
  if (block instanceof Uint8Array) {
    return { type: "file", mediaType: defaultMediaTypes.file, data: Buffer.from(block).toString("base64") };
  }
  const known = isRecord(block) ? knownBlock(block) : undefined;
  return known ?? { type: "text", text: typeof block === "string" ? block.toWellFormed() : plain(block).text };
}

function knownBlock(block: Record<string, unknown>): ContentBlock | undefined {
  const { type } = block;
  const text = textIn(block, "text");
  switch (type) {
    case "text":
      return text === undefined ? undefined : { type, text, ...notesOf(block) };
    case "image":
    case "audio":
    case "file":
      return media(type, block);
    case "image_url":
      return media("image", block);
    case "resource":
      return resource(block);
    case "link":
    case "resource_link":
      return link(block);
    default:
      return undefined;
  }
}

const defaultMediaTypes = {
  image: "image/png",
  audio: "audio/wav",
  file: "application/octet-stream",
} as const;

/** Providers put the bytes, the URL or the file's id into `source` or `image_url`. */
function media(type: "image" | "audio" | "file", block: Record<string, unknown>): ContentBlock | undefined {
  const inner = [block["source"], block["image_url"], block[type]].find(isRecord) ?? {};
  const source = { ...inner, ...block };
  const data = dataIn(source);
  const artifact = textIn(source, "artifact");
  const url = textIn(source, "url", "uri", "image_url");
  const fileId = textIn(source, "fileId", "file_id");
  if ((data ?? artifact ?? url ?? fileId) === undefined) return undefined;
  return {
    type,
    mediaType: mediaTypeOf(source) ?? defaultMediaTypes[type],
    ...defined({ data, artifact, url, fileId, name: textIn(source, "name", "filename") }),
    ...notesOf(block),
  };
}

/** With text or bytes: the resource with its content. Without: a link. */
function resource(block: Record<string, unknown>): ContentBlock | undefined {
  const nested = block["resource"];
  const source = isRecord(nested) ? nested : block;
  const uri = textIn(source, "uri");
  if (uri === undefined) return undefined;
  const mediaType = mediaTypeOf(source);
  const text = textIn(source, "text");
  const data = dataIn(source);
  if ((text ?? data) === undefined) return { type: "link", uri, ...defined({ mediaType }), ...notesOf(block) };
  const meta = isRecord(nested) ? jsonIn(nested, "_meta", "meta") : jsonIn(block, "resourceMeta", "resource_meta");
  const resourceMeta = isJsonObject(meta) ? meta : undefined;
  return { type: "resource", uri, ...defined({ mediaType, text, data, resourceMeta }), ...notesOf(block) };
}

function link(block: Record<string, unknown>): ContentBlock | undefined {
  const uri = textIn(block, "uri", "url");
  if (uri === undefined) return undefined;
  const { size } = block;
  const icons = jsonIn(block, "icons");
  return {
    ...{ type: "link", uri },
    ...defined({
      name: textIn(block, "name"),
      title: textIn(block, "title"),
      description: textIn(block, "description"),
      mediaType: mediaTypeOf(block),
      size: typeof size === "number" && Number.isFinite(size) ? size : undefined,
      icons: Array.isArray(icons) ? icons : undefined,
    }),
    ...notesOf(block),
  };
}

function notesOf(block: Record<string, unknown>): { readonly annotations?: JsonObject; readonly meta?: JsonObject } {
  if (block["annotations"] === undefined && block["_meta"] === undefined && block["meta"] === undefined) return noNotes;
  const annotations = jsonIn(block, "annotations");
  const meta = jsonIn(block, "_meta", "meta");
  return { ...(isJsonObject(annotations) && { annotations }), ...(isJsonObject(meta) && { meta }) };
}

const noNotes = {};

/** The value of the first name that has one, as plain JSON. Returns undefined where it is nested too deep. */
function jsonIn(block: Record<string, unknown>, ...names: readonly string[]): Json | undefined {
  const value = names.map((name) => block[name]).find((one) => one !== undefined && one !== null);
  return value === undefined ? undefined : plain(value).value;
}

/** Base64 text, whether it was given as such or as bytes. */
function dataIn(block: Record<string, unknown>): string | undefined {
  const data = block["data"] ?? block["blob"];
  return data instanceof Uint8Array ? Buffer.from(data).toString("base64") : textIn(block, "data", "blob");
}

function mediaTypeOf(block: Record<string, unknown>): string | undefined {
  const mediaType = textIn(block, "mediaType", "mimeType", "media_type", "mime_type");
  return mediaType === "" ? undefined : mediaType;
}

function textIn(block: Record<string, unknown>, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = block[name];
    if (typeof value === "string") return value.toWellFormed();
  }
  return undefined;
}
