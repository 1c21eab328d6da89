/** A real OpenID provider in a process of its own. Its users are given as JSON: claims by login. Prints its address. */
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [redirectUris, users] = process.argv.slice(2).map((text) => JSON.parse(text));
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "postern",
        client_secret: "a secret of the client",
        redirect_uris: redirectUris,
        token_endpoint_auth_method: "client_secret_post",
      },
    ],
    claims: { openid: ["sub", "groups"], email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
    pkce: { required: () => true },
    findAccount: (_, login) => ({ accountId: login, claims: () => ({ sub: login, ...users[login] }) }),
  });
  server.on("request", provider.callback());
  process.stdout.write(`${issuer}\n`);
});
