import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";
import { endedMeanwhile } from "./caller.ts";
import { asked } from "./held-request.ts";
import { readText } from "./request-body.ts";

/** The MCP server: it gets requests whose caller is known and whose body is bounded. */
export type McpHandler = (request: Request, by: Who, path: { readonly server?: string }) => Promise<Response>;

export interface Forwarded {
  readonly by: Who;
  /** Of the path. Undefined means all of them. */
  readonly server: string | undefined;
  readonly maxBodyBytes: number;
}

/**
 * Passes a request to the MCP server. The body is read here, so that its size and the caller's credential are checked in
 * one place.
 */
export async function forwardToMcp(
  mcp: McpHandler | undefined,
  request: Request,
  { by, server, maxBodyBytes }: Forwarded,
): Promise<Response> {
  if (mcp === undefined) return problem("mcp_not_served", "This server does not speak MCP.");
  const path = server === undefined ? {} : { server };
  const init = {
    method: request.method,
    headers: new Headers([...request.headers]),
    signal: request.signal,
  };
  const pass = (own: Request): Promise<Response> => asked(own, (passed) => mcp(passed, by, path));
  if (request.method === "GET" || request.method === "HEAD") return await pass(new Request(request.url, init));
  const ended = endedMeanwhile(by);
  const text = await readText(request, maxBodyBytes);
  const refused = ended();
  if (refused !== undefined) return refused;
  if ("refused" in text) return text.refused;
  init.headers.delete("content-length");
  return await pass(new Request(request.url, { ...init, ...(text.value !== "" && { body: text.value }) }));
}
