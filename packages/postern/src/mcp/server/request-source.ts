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

/** Who sends a request, and to which endpoint: `/mcp`, or `/mcp/<server>`. */
export interface RequestSource {
  readonly caller: McpCaller;
  readonly server: string | undefined;
}

/** A text that is equal only for the same caller with the same rights. */
export function callerKey({ principal, scopes, autonomy }: McpCaller): string {
  return canonical([principal as unknown as Json, [...scopes].sort(), autonomy ?? null]); // a principal is plain JSON
}

/** Whether the client speaks revision 2025-11-25. Revision 2026-07-28 added the envelope. */
export function isOld({ mcpReq: { envelope } }: ServerContext): boolean {
  return envelope === undefined;
}
