/**
 * The MCP server: one `tools/call` is one call of `session.invoke`, in both revisions of the protocol, over Streamable HTTP
 * and over pipes. It translates and decides nothing.
 *
 * Invariant: the caller is the one that was authenticated for this request. No message, header or session states it.
 * Next: mcp-server.ts (the server), sessions.ts (2025-11-25 over HTTP), offer.ts (listed tools and their names), call.ts (one
 * tools/call), answer.ts (an outcome as a tool result), line-transport.ts (pipes).
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import { type Autonomy, canonical, type Json, type Principal } from "@postern/core";

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

/** Who sends a request, and to which endpoint: `/mcp`, or `/mcp/<server>`. */
export interface RequestSource {
  readonly caller: McpCaller;
  readonly server: string | undefined;
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

/** Whether the client speaks revision 2025-11-25. Revision 2026-07-28 added the envelope. */
export function isOld({ mcpReq: { envelope } }: ServerContext): boolean {
  return envelope === undefined;
}
