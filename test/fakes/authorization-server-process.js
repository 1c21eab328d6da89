/**
 * A real authorization server in a process of its own: clients register themselves, and access tokens are signed.
 * Options as JSON: `port`, `keys`, `users` (claims of the access token by login), `audience`. Prints its address.
 */
import { createServer } from "node:http";
import Provider from "oidc-provider";

const { port, keys, users, audience } = JSON.parse(process.argv[2] ?? "{}");
const server = createServer();
server.listen(port, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const scope = "mcp mail:write";
  const provider = new Provider(issuer, {
    jwks: { keys },
    clients: [],
    pkce: { required: () => true },
    scopes: ["openid", "offline_access", ...scope.split(" ")],
    features: {
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, indicator) => ({
          ...{ scope, audience: audience ?? indicator, accessTokenFormat: "jwt", accessTokenTTL: 3600 },
        }),
      },
    },
    extraTokenClaims: (_, token) => users[token.accountId],
    findAccount: (_, login) => ({ accountId: login, claims: () => ({ sub: login }) }),
  });
  server.on("request", provider.callback());
  process.stdout.write(`${issuer}\n`);
});
