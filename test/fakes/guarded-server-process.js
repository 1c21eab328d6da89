/**
 * A real authorization server, and an MCP server that takes its tokens, each on a port of its own. The parent says by
 * messages how it behaves, and asks what it saw. Prints both addresses.
 */
import { createServer } from "node:http";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import Provider from "oidc-provider";

const usual = { status: null, dies: false, dead: false, isOpen: false, holds: false };
const nothing = () => ({
  refreshes: 0,
  held: 0,
  abandoned: 0,
  registrations: 0,
  revocations: 0,
  tokens: [],
  authorizations: [],
  issued: [],
});
const behaviour = { ...usual };
const seen = nothing();
const refused = new Set();
let release = Promise.withResolvers();

const mcp = createServer();
const server = createServer();
await Promise.all([mcp, server].map((one) => new Promise((done) => one.listen(0, "127.0.0.1", done))));
const issuer = `http://127.0.0.1:${server.address().port}`;
const resource = `http://127.0.0.1:${mcp.address().port}/mcp`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "by-hand",
      client_secret: "a secret of the client",
      redirect_uris: ["http://127.0.0.1:7420/v1/connections/callback"],
    },
    {
      client_id: "machine",
      client_secret: "a secret of the machine",
      redirect_uris: [],
      response_types: [],
      grant_types: ["client_credentials"],
    },
  ],
  pkce: { required: () => true },
  scopes: ["openid", "offline_access", "read", "admin"],
  issueRefreshToken: () => true,
  rotateRefreshToken: true,
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "read admin", audience: resource, accessTokenFormat: "opaque" }),
    },
  },
  findAccount: (_, login) => ({ accountId: login, claims: () => ({ sub: login }) }),
});
provider.on("grant.success", ({ body }) => seen.issued.push(body.access_token, ...[body.refresh_token ?? []].flat()));
const answer = provider.callback();
server.on("request", async (request, response) => {
  const { url = "" } = request;
  if (behaviour.dead === true) return request.socket.destroy();
  if (url.startsWith("/token") && !url.includes("revocation")) {
    if (behaviour.dies === true) return request.socket.destroy();
    if (behaviour.holds === true) {
      seen.held += 1;
      request.socket.once("close", () => {
        seen.abandoned += 1;
      });
      await release.promise;
      if (request.socket.destroyed) return undefined; // its client is gone
    }
    const parts = [];
    request.on("data", (part) => parts.push(part));
    if (behaviour.status !== null) {
      request.on("end", () => {
        if (Buffer.concat(parts).includes("grant_type=refresh_token")) seen.refreshes += 1;
        response.writeHead(behaviour.status, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: behaviour.status < 500 ? "invalid_grant" : "server_error" }));
      });
      return undefined;
    }
    request.on("end", () => {
      if (Buffer.concat(parts).includes("grant_type=refresh_token")) seen.refreshes += 1;
    });
  }
  if (url === "/reg") seen.registrations += 1;
  if (url === "/token/revocation") seen.revocations += 1;
  return answer(request, response);
});

const tools = ["whoami", "administer"].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));
const handler = createMcpHandler((context) => {
  const made = new Server({ name: "guarded", version: "1" }, { capabilities: { tools: {} } });
  made.setRequestHandler("tools/list", () => ({ tools }));
  made.setRequestHandler("tools/call", (_, { http } = {}) => {
    const who = http?.authInfo?.extra?.who ?? context?.authInfo?.extra?.who;
    return { content: [{ type: "text", text: String(who) }] };
  });
  return made;
});

function challenged(response, status, more) {
  const metadata = `resource_metadata="${new URL("/metadata", resource)}"`;
  response.writeHead(status, { "www-authenticate": `Bearer ${metadata}, ${more}` });
  response.end();
}

mcp.on("request", async (request, response) => {
  const path = request.url ?? "";
  // A server that lets everyone in names no other place.
  if (path === (behaviour.isOpen ? "/.well-known/oauth-protected-resource/mcp" : "/metadata")) {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ resource, authorization_servers: [issuer], scopes_supported: ["read"] }));
  }
  const [, text = ""] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
  seen.authorizations.push(request.headers.authorization ?? "none");
  if (request.headers["x-api-key"] !== undefined) seen.tokens.push(request.headers["x-api-key"]);
  const token =
    text === "" || refused.has(text)
      ? undefined
      : ((await provider.AccessToken.find(text)) ?? (await provider.ClientCredentials.find(text)));
  if (token === undefined && behaviour.isOpen !== true)
    return challenged(response, 401, 'error="invalid_token", scope="read"');
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts).toString();
  if (body.includes('"administer"') && !(token?.scope ?? "").includes("admin"))
    return challenged(response, 403, 'error="insufficient_scope", scope="admin"');
  if (token !== undefined) seen.tokens.push(text);
  const asked = new Request(new URL(path, resource), {
    method: request.method,
    headers: Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value]] : [],
    ),
    ...(body !== "" && { body }),
  });
  const who = request.headers["x-api-key"] ?? token?.accountId ?? token?.clientId;
  const authInfo = { token: text, clientId: token?.clientId ?? "none", scopes: [], extra: { who } };
  const given = await handler.fetch(asked, { authInfo });
  response.writeHead(given.status, Object.fromEntries(given.headers));
  response.end(Buffer.from(await given.arrayBuffer()));
});

process.on("message", ({ ask, refuse, reset, ...more }) => {
  if (reset === true) Object.assign(seen, nothing());
  Object.assign(behaviour, reset === true ? usual : {}, more);
  if (behaviour.holds !== true) {
    release.resolve();
    release = Promise.withResolvers();
  }
  if (refuse === true) for (const token of seen.tokens) refused.add(token);
  process.send({ ask, seen });
});
process.stdout.write(`${JSON.stringify({ issuer, resource })}\n`);
