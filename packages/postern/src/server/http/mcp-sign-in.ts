/** How an MCP client finds out where its user signs in: the metadata of this resource server (RFC 9728). */
import type { ResourceServer } from "../../identity/resource-server.ts";
import type { McpEndpoint } from "../credentials.ts";
import { answer, type Challenge, problem } from "./answers.ts";
import { mcpPath } from "./mcp-entry.ts";
import type { RequestHead } from "./page-guard.ts";

const wellKnown = "/.well-known/oauth-protected-resource";

export function challengeAt(oauth: ResourceServer, origin: string, { server }: McpEndpoint): Challenge {
  const path = server === undefined ? "/mcp" : `/mcp/${encodeURIComponent(server)}`;
  const { requiredScopes, scopes } = oauth.settings;
  return {
    resourceMetadata: `${origin}${wellKnown}${path}`,
    scopes: requiredScopes.length > 0 ? requiredScopes : scopes,
  };
}

/** Returns undefined for a path that is no metadata of `/mcp`. The path without one names `/mcp` too. */
export function resourceMetadata(
  { method }: Pick<RequestHead, "method">,
  pathname: string,
  oauth: OAuthAt,
): Response | undefined {
  if (!pathname.startsWith(wellKnown)) return undefined;
  const path = pathname.slice(wellKnown.length);
  const endpoint = path === "" || path === "/" ? { server: undefined } : mcpPath(path);
  if (endpoint === undefined) return undefined;
  if (method !== "GET" && method !== "HEAD")
    return problem("method_not_allowed", "The metadata takes GET.", { headers: { allow: "GET" } });
  const { issuer, scopes } = oauth.server.settings;
  return answer({
    resource: oauth.server.resourceAt(oauth.origin, endpoint.server),
    resource_name: "Postern",
    authorization_servers: [issuer],
    bearer_methods_supported: ["header"],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  });
}

interface OAuthAt {
  readonly server: ResourceServer;
  /** Of this server, as the client wrote it. */
  readonly origin: string;
}
