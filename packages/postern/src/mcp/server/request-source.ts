/**
 * The MCP server: one `tools/call` is one call of `session.invoke`, in both revisions of the protocol, over Streamable HTTP
 * and over pipes. It translates and decides nothing.
 *
 * Invariant: the caller is the one that was authenticated for this request. No message, header or session states it.
 * Next: mcp-server.ts (the server), dispatcher.ts (the methods), http.ts, sessions.ts and lines.ts (the ways in),
 * offer.ts (listed tools and their names), call.ts (one tools/call), answer.ts (an outcome as a tool result).
 */
import { type Autonomy, canonical, type Json, type JsonObject, type Principal } from "@postern/core";
import type { LogLevel, ResourceListener } from "../../call/client-of-call.ts";
import type { MessageId } from "../protocol/peer.ts";

/** The authenticated caller of a request. */
export interface McpCaller {
  readonly principal: Principal;
  readonly scopes: readonly string[];
  readonly autonomy?: Autonomy;
}

type Scopes = McpCaller["scopes"];
const noScopes: Scopes = [];
/** A credential that is kept gives the same objects for each of its requests. */
const keys = new WeakMap<
  Principal,
  WeakMap<Scopes, { readonly autonomy: Autonomy | undefined; readonly key: string }>
>();

/** Which tools an endpoint lists: all of them, or a few that find the others. */
export type EndpointMode = "search" | "code";

/** Who sends a request, and to which endpoint: `/mcp`, or `/mcp/<server>`. */
export interface RequestSource {
  readonly caller: McpCaller;
  readonly server: string | undefined;
  readonly mode?: EndpointMode | undefined;
  /** Of a client of an old revision. */
  readonly session?: ClientSession | undefined;
  /** The connection of a client over pipes. */
  readonly pipes?: object;
}

/** A client of an old revision, from `initialize` until it leaves. */
export interface ClientSession {
  /** What it stated when it began. */
  readonly capabilities: JsonObject;
  readonly listener: ResourceListener;
  /** What it asked for with `logging/setLevel`. */
  logsFrom: LogLevel | undefined;
}

/** One request of a client, whichever way it came. */
export interface McpRequest {
  readonly id: MessageId;
  readonly method: string;
  /** Without `_meta`. */
  readonly params: JsonObject;
  readonly meta: JsonObject;
  readonly source: RequestSource;
  /** The client speaks a revision before 2026-07-28. */
  readonly isOld: boolean;
  /** What the client can do, as it states it. */
  readonly capabilities: JsonObject;
  readonly signal: AbortSignal;
  /** Sends a notification before the answer. */
  tell(method: string, params: JsonObject): void;
}

/** A text that is equal only for the same caller with the same rights. */
export function callerKey({ principal, scopes: granted, autonomy }: McpCaller): string {
  const scopes = granted.length === 0 ? noScopes : granted;
  const ofPrincipal = keys.get(principal) ?? new WeakMap();
  const known = ofPrincipal.get(scopes);
  if (known !== undefined && known.autonomy === autonomy) return known.key;
  const key = canonical([principal as unknown as Json, [...scopes].sort(), autonomy ?? null]); // a principal is plain JSON
  keys.set(principal, ofPrincipal.set(scopes, { autonomy, key }));
  return key;
}

/** The agent, whichever of its credentials it sends. */
export function ownerOf({ caller: { principal } }: RequestSource): string {
  const { tenant, agent, user } = principal;
  return canonical([tenant, agent, user ?? null]);
}

/** Those of the owner with the most, so that no caller loses its own to another. */
export function ofLargestOwner<Owned extends { readonly owner: string }>(all: Iterable<Owned>): readonly Owned[] {
  const owners = [...Map.groupBy(all, ({ owner }) => owner).values()];
  return owners.toSorted((one, other) => other.length - one.length)[0] ?? [];
}
