/**
 * The MCP door: one call of `tools/call` is one call of `session.invoke`, in both revisions of the protocol, over
 * Streamable HTTP and over pipes. It translates and decides nothing.
 *
 * Invariant: who calls is what the door was told by whoever authenticated the request, looked up for every single
 * request; nothing in a message, a header or a session says it.
 * Next: mcp-server.ts (the door), sessions.ts (2025-11-25 over HTTP), offer.ts (what is listed, and what a name means),
 * call.ts (one tools/call), answer.ts (an outcome as a tool result), ../windows.ts (budgets), line-transport.ts (pipes).
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { Autonomy, Principal } from "../../core/call.ts";
import { canonical, type Json } from "../../core/json.ts";

/** Who sends a request, as authenticated. */
export interface McpCaller {
  readonly principal: Principal;
  readonly scopes: readonly string[];
  readonly autonomy?: Autonomy;
}

/** One request at the door: by whom, and at `/mcp` or at `/mcp/<server>`. */
export interface Visit {
  readonly caller: McpCaller;
  readonly server: string | undefined;
}

/** The same for the same caller with the same rights, and for nobody else. */
export function callerKey({ principal, scopes, autonomy }: McpCaller): string {
  return canonical([principal as unknown as Json, [...scopes].sort(), autonomy ?? null]); // a principal is plain JSON
}

/** Whether the client speaks revision 2025-11-25: the envelope came with 2026-07-28. */
export function isOld({ mcpReq: { envelope } }: ServerContext): boolean {
  return envelope === undefined;
}
