import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";
import { endedMeanwhile } from "./caller.ts";
import { asked } from "./held-request.ts";
import { readText } from "./request-body.ts";

/** The MCP door, as this one knows it: a request whose sender is known and whose body is bounded. */
export type McpHandler = (request: Request, by: Who, path: { readonly server?: string }) => Promise<Response>;

export interface Forwarded {
  readonly by: Who;
  /** Of the path; none: all of them. */
  readonly server: string | undefined;
  readonly maxBodyBytes: number;
}

/**
 * Hands a request on to the MCP door, which reads what it says. The body is taken in here, so that its size and whether
 * its sender's rights lasted are judged once for all doors.
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
  const hand = (own: Request): Promise<Response> => asked(own, (handed) => mcp(handed, by, path));
  if (request.method === "GET" || request.method === "HEAD") return await hand(new Request(request.url, init));
  const ended = endedMeanwhile(by);
  const text = await readText(request, maxBodyBytes);
  const refused = ended();
  if (refused !== undefined) return refused;
  if ("refused" in text) return text.refused;
  init.headers.delete("content-length");
  return await hand(new Request(request.url, { ...init, ...(text.value !== "" && { body: text.value }) }));
}
