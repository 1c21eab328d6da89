import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Definition } from "./definition.ts";

/** A definition, and since when; `by`: the operator who approved it, or nobody when it was trusted at first sight. */
export interface StoredDefinition extends Definition {
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly by?: string;
  /** And by which credential. */
  readonly via?: string;
}

/** What is known of one tool of one server. */
export interface Pin {
  readonly server: string;
  /** Under which the registry knows it: `server__tool`. */
  readonly tool: string;
  /** What may be called. None: nothing yet. */
  readonly pinned?: StoredDefinition;
  /** What the server says instead, as last seen. None: what is pinned. */
  readonly offered?: StoredDefinition;
}

/** One document a tool, of this kind, under the tool's name. */
export const pinKind = "pin";

export function pinToJson({ server, tool, pinned, offered }: Pin): JsonObject {
  return {
    server,
    tool,
    ...(pinned !== undefined && { pinned: { ...pinned } }),
    ...(offered !== undefined && { offered: { ...offered } }),
  };
}

/** Undefined for what was not written here: whoever asks treats the tool as one that nobody trusted yet. */
export function pinFromJson(body: Json): Pin | undefined {
  if (!isJsonObject(body)) return undefined;
  const { server, tool } = body;
  const pinned = keptFrom(body["pinned"]);
  const offered = keptFrom(body["offered"]);
  if (typeof server !== "string" || typeof tool !== "string" || pinned === null || offered === null) return undefined;
  return { server, tool, ...(pinned !== undefined && { pinned }), ...(offered !== undefined && { offered }) };
}

function keptFrom(value: Json | undefined): StoredDefinition | undefined | null {
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) return null;
  const { body, digest, at, by, via } = value;
  if (!isJsonObject(body) || typeof digest !== "string" || typeof at !== "number") return null;
  return { body, digest, at, ...(typeof by === "string" && { by }), ...(typeof via === "string" && { via }) };
}
