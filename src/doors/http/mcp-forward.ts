import type { Who } from "../credentials.ts";
import { parseStrict } from "../strict-json.ts";
import { problem } from "./answers.ts";
import { endedMeanwhile } from "./ended.ts";
import { isJson, readText } from "./request-body.ts";

/** The MCP door, as this one knows it: a request whose sender is known and whose body is bounded. */
export type McpHandler = (request: Request, by: Who, path: { readonly server?: string }) => Promise<Response>;

/**
 * Hands a request on to the MCP door. A body is read here, so that its size and its JSON are judged once for all doors;
 * what does not pass is told in JSON-RPC's own words.
 */
export async function forwardToMcp(
  mcp: McpHandler | undefined,
  request: Request,
  by: Who,
  server: string | undefined,
  maxBodyBytes: number,
): Promise<Response> {
  if (mcp === undefined) return problem("mcp_not_served", "This server does not speak MCP.");
  const path = server === undefined ? {} : { server };
  const init = {
    method: request.method,
    headers: new Headers([...request.headers]),
    signal: request.signal,
  };
  if (request.method === "GET" || request.method === "HEAD") return mcp(new Request(request.url, init), by, path);
  const ended = endedMeanwhile(by);
  const text = await readText(request, maxBodyBytes);
  const refused = ended();
  if (refused !== undefined) return refused;
  if ("refused" in text) return text.refused;
  if (isJson(request.headers.get("content-type"))) {
    const parsed = parseStrict(text.value);
    if ("problem" in parsed) return parseError(parsed.problem);
  }
  init.headers.delete("content-length");
  return mcp(new Request(request.url, { ...init, ...(text.value !== "" && { body: text.value }) }), by, path);
}

function parseError(message: string): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code: -32_700, message } }, { status: 400 });
}
