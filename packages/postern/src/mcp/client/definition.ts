import { canonical, defined, isJsonObject, type Json, type JsonObject } from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { ToolBlock } from "../../tools/registered.ts";
import type { ServerConfig } from "./server-config.ts";
import type { UpstreamTool } from "./upstream.ts";

/** What a server states about one of its tools: everything that a model reads or that the tool's terms are made from. */
export interface Definition {
  /** `name`, `title`, `description`, `inputSchema`, `outputSchema`, `annotations`, as far as the server states them. */
  readonly body: JsonObject;
  /** SHA-256, 64 hex digits. */
  readonly digest: string;
}

export const definitionFields = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] as const;

/** What the definition of a tool's page has beside `name` (ui.ts). */
export const pageFields = ["mimeType", "page", "text", "_meta"] as const;

/** A definition is stored and shown to a person; something larger is no description of a tool. */
const maxCharacters = 256 * 1024;

const read = new WeakMap<UpstreamTool, Definition>();

/**
 * Each listed tool is read once.
 *
 * @throws RangeError, TypeError when it is too large, nested too deep, or holds half a surrogate pair
 */
export function definitionOf(tool: UpstreamTool): Definition {
  const known = read.get(tool);
  if (known !== undefined) return known;
  const definition = readDefinition(tool);
  read.set(tool, definition);
  return definition;
}

function readDefinition(tool: UpstreamTool): Definition {
  const listed = tool as unknown as JsonObject; // it was read from JSON
  const body = Object.fromEntries(
    definitionFields.flatMap((field): [string, Json][] => {
      const value = listed[field];
      return value === undefined ? [] : [[field, value]];
    }),
  );
  const text = canonical(body);
  if (text.length > maxCharacters)
    throw new RangeError(`Its definition has ${text.length} characters; at most ${maxCharacters} are taken.`);
  return { body, digest: sha256(`mcp-tool/1\0${text}`) };
}

/** The tool as it was when this definition was stored. Returns undefined when the definition is not that of a tool. */
export function toolOf({ body }: Definition): UpstreamTool | undefined {
  const { name, inputSchema } = body;
  return typeof name === "string" && isJsonObject(inputSchema) ? (body as unknown as UpstreamTool) : undefined; // made by `definitionOf`
}

/** A definition, since when it is stored, and the operator who approved it. A tool that is trusted at first sight has no `by`. */
export interface StoredDefinition extends Definition {
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly by?: string;
  /** The credential of the operator. */
  readonly via?: string;
}

/** What is known of one tool of one server. */
export interface Pin {
  readonly server: string;
  /** The name in the registry: `server__tool`. */
  readonly tool: string;
  /** What may be called. Left out: nothing yet. */
  readonly pinned?: StoredDefinition;
  /** What the server states now, if it is not what is pinned. */
  readonly offered?: StoredDefinition;
}

/** What a server showed last: the names of its tools, whose definitions are pinned, and what it has beside them. */
export interface LastList {
  /** The server's own names. */
  readonly tools: readonly string[];
  readonly capabilities: JsonObject;
}

/** The definitions that are trusted. `Pins` keeps them in the store; a connection of a program keeps its own. */
export interface TrustedDefinitions {
  get(tool: string): Pin | undefined;
  /** Whether a tool is trusted as it is first seen. */
  trusts(tool: string, strict: boolean): boolean;
  recordSeen(at: Pick<Pin, "server" | "tool">, seen: Definition, strict: boolean): Promise<void>;
  /** What is known of one server before it is connected. */
  list(server: string): readonly Pin[];
  /** The follower is called after an operator approved a definition. */
  follow(server: string, follower: (tool: string) => Promise<void>): void;
  /** The servers that were connected before. */
  readonly servers: {
    knows(server: string, config: ServerConfig): Promise<boolean>;
    keep(server: string, config: ServerConfig): Promise<void>;
    lastList(server: string, config: ServerConfig): Promise<LastList | undefined>;
    keepList(server: string, config: ServerConfig, list: LastList): Promise<void>;
  };
}

/** Pins are stored one document a tool, of this kind, under the tool's name. */
export const pinKind = "pin";

export function pinToJson({ server, tool, pinned, offered }: Pin): JsonObject {
  return {
    server,
    tool,
    ...(pinned !== undefined && { pinned: { ...pinned } }),
    ...(offered !== undefined && { offered: { ...offered } }),
  };
}

/** Returns undefined for what `pinToJson` does not write: the tool then counts as one that is not trusted. */
export function pinFromJson(body: Json): Pin | undefined {
  if (!isJsonObject(body)) return undefined;
  const { server, tool } = body;
  const pinned = storedFromJson(body["pinned"]);
  const offered = storedFromJson(body["offered"]);
  if (typeof server !== "string" || typeof tool !== "string" || pinned === null || offered === null) return undefined;
  return { server, tool, ...defined({ pinned, offered }) };
}

/** Returns null for what cannot be read. */
function storedFromJson(value: Json | undefined): StoredDefinition | undefined | null {
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) return null;
  const { body, digest, at, by, via } = value;
  if (!isJsonObject(body) || typeof digest !== "string" || typeof at !== "number") return null;
  return { body, digest, at, ...(typeof by === "string" && { by }), ...(typeof via === "string" && { via }) };
}

const forAgents = "An operator must look at it and approve it; go on without this tool until then.";

/**
 * Agents read why a tool is blocked, so the operator's commands are not named here.
 *
 * @param advice when it can be called again
 */
export function changedBlock(tool: string, fields: readonly string[], advice: string = forAgents): ToolBlock {
  const problem = `\`${tool}\` is blocked: its server changed its definition (${fields.join(", ")}). ${advice}`;
  return { why: "changed", problem };
}

export function newBlock(tool: string): ToolBlock {
  const problem = `\`${tool}\` is blocked: no operator has approved its definition yet. ${forAgents}`;
  return { why: "new", problem };
}

/** @param problem why its definition could not be stored; undefined while it is being stored */
export function waitingBlock(tool: string, problem?: string): ToolBlock {
  const why = problem === undefined ? "is being pinned; try again" : `could not be recorded: ${problem}`;
  return { why: "waiting", problem: `\`${tool}\` is blocked: its definition ${why}` };
}
