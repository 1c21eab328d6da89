import { canonical, isJsonObject, type Json, type JsonObject, sha256 } from "../../core/json.ts";
import type { UpstreamTool } from "./upstream.ts";

/** What a server says of one of its tools: all that a model reads or a term is made of, and nothing else of it. */
export interface Definition {
  /** `name`, `title`, `description`, `inputSchema`, `outputSchema`, `annotations`; what it did not say is not there. */
  readonly body: JsonObject;
  /** SHA-256, 64 hex digits. */
  readonly digest: string;
}

export const definitionFields = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] as const;

/** What the definition of a tool's page has beside `name` (ui.ts). */
export const pageFields = ["mimeType", "page", "text", "_meta"] as const;

/** A definition is kept and shown to a person; what is larger than this is no description of a tool. */
const maxCharacters = 256 * 1024;

/** @throws RangeError, TypeError when it is too large, nested too deep, or holds half a surrogate pair */
export function definitionOf(tool: UpstreamTool): Definition {
  const said = tool as unknown as JsonObject; // it was read from JSON
  const body = Object.fromEntries(
    definitionFields.flatMap((field): [string, Json][] => {
      const value = said[field];
      return value === undefined ? [] : [[field, value]];
    }),
  );
  const text = canonical(body);
  if (text.length > maxCharacters)
    throw new RangeError(`Its definition has ${text.length} characters; at most ${maxCharacters} are taken.`);
  return { body, digest: sha256(`mcp-tool/1\0${text}`) };
}

/** The tool as it was when this definition was kept; undefined when that is none. */
export function toolOf({ body }: Definition): UpstreamTool | undefined {
  const { name, inputSchema } = body;
  return typeof name === "string" && isJsonObject(inputSchema) ? (body as unknown as UpstreamTool) : undefined; // made by `definitionOf`
}
