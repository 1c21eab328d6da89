import { isJsonObject, type JsonObject } from "../../calls/json.ts";
import type { ContentBlock } from "../../calls/outcome.ts";

/** A server's blocks in our spelling (SPEC 13.2). Never throws: what is not understood becomes its own text (case 245). */
export function contentOf(blocks: readonly unknown[]): readonly ContentBlock[] {
  return blocks.map(blockOf);
}

function blockOf(block: unknown): ContentBlock {
  if (!isJsonObject(block)) return { type: "text", text: JSON.stringify(block) ?? "" };
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? { type: "text", text: block["text"] } : unread(block);
    case "image":
      return mediaOf(block, "image", "image/png");
    case "audio":
      return mediaOf(block, "audio", "audio/wav");
    case "resource":
      return resourceOf(block);
    case "resource_link":
      return linkOf(block) ?? unread(block);
    default:
      return unread(block);
  }
}

function mediaOf(block: JsonObject, type: "image" | "audio", usual: string): ContentBlock {
  const { data, mimeType } = block;
  if (typeof data !== "string") return unread(block);
  return {
    type,
    mediaType: typeof mimeType === "string" && mimeType !== "" ? mimeType : usual,
    data,
  };
}

/** With text: the resource and its text. With bytes: a resource that has them. With neither: only where it is. */
function resourceOf(block: JsonObject): ContentBlock {
  const resource = block["resource"];
  if (!isJsonObject(resource) || typeof resource["uri"] !== "string") return unread(block);
  const { uri, mimeType, text, blob } = resource;
  const mediaType = typeof mimeType === "string" ? { mediaType: mimeType } : {};
  if (typeof text === "string") return { type: "resource", uri, ...mediaType, text };
  if (typeof blob === "string") return { type: "resource", uri, ...mediaType, data: blob };
  return { type: "link", uri, ...mediaType };
}

function linkOf(block: JsonObject): ContentBlock | undefined {
  const { uri, name, mimeType } = block;
  if (typeof uri !== "string") return undefined;
  return {
    type: "link",
    uri,
    ...(typeof name === "string" && { name }),
    ...(typeof mimeType === "string" && { mediaType: mimeType }),
  };
}

function unread(block: JsonObject): ContentBlock {
  return { type: "text", text: JSON.stringify(block) };
}
