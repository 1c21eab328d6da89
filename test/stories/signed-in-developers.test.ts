import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportSPKI, importJWK, type JWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AuthorizationServer, signingKey } from "../fakes/authorization-server.ts";
import { type SignedInGateway, signedInGateway } from "../fakes/signed-in-gateway.ts";

const users = {
  ada: { org: "acme", groups: ["platform", "on call"], client: { agent: "editor" } },
  bob: { groups: "platform" },
  eve: { groups: 5 },
};
let server: AuthorizationServer;
beforeAll(async () => {
  server = await AuthorizationServer.start({ users });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Signing {
  readonly key?: JWK;
  readonly header?: Readonly<Record<string, string>>;
}

/** A token that the authorization server could have signed, with other claims. */
async function tokenFor(
  { url, clock }: Pick<SignedInGateway, "url" | "clock">,
  claims: Readonly<Record<string, unknown>> = {},
  { key = server.key, header = {} }: Signing = {},
): Promise<string> {
  const now = Math.floor(clock.now() / 1000);
  const usual = { iss: server.issuer, aud: url.href, sub: "ada", scope: "mcp", iat: now, exp: now + 300 };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid: String(key["kid"]), ...header })
    .sign(await importJWK(key, "RS256"));
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const payloadOf = (token: string): string => token.split(".")[1] ?? "";

async function refusal(answered: Response) {
  const { error } = (await answered.json()) as { readonly error: { readonly code: string; readonly message: string } }; // the form of every refusal
  const challenge = answered.headers.get("www-authenticate") ?? "";
  return { status: answered.status, code: error.code, message: error.message, challenge };
}

describe("a developer who signs in", () => {
  const claims = { user: "sub", scopes: "scope", tenant: "org", groups: "groups", agent: "client.agent" };

  it("gets from 401 to a call, which has tenant, user, agent and groups of the token", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer, claims, requiredScopes: ["mcp"], scopes: ["mcp"] });
    const { client } = await server.signIn(gateway.url, "ada");
    const { structuredContent } = await client.callTool({ name: "whoami", arguments: {} });
    expect(structuredContent).toMatchObject({
      ...{ tenant: "acme", user: "ada", agent: "editor", groups: ["platform", "on call"] },
      via: expect.stringMatching(/^oauth:./),
    });
    await client.close();
  });

  it("is the agent `mcp-client` of the tenant `default` where no claim says another", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer });
    const { client } = await server.signIn(gateway.url, "bob");
    const { structuredContent } = await client.callTool({ name: "whoami", arguments: {} });
    expect(structuredContent).toMatchObject({ tenant: "default", user: "bob", agent: "mcp-client" });
    expect(structuredContent).not.toHaveProperty("groups");
    await client.close();
  });

  it("may use the tools whose scope the token has", async () => {
    const mail = await signedInGateway({ issuer: server.issuer, requiredScopes: ["mail:write"] });
    const { client } = await server.signIn(mail.url, "bob");
    expect(await client.callTool({ name: "read_mail", arguments: {} })).toMatchObject({ isError: false });
    await client.close();
    const other = await signedInGateway({ issuer: server.issuer, requiredScopes: ["mcp"] });
    const without = await server.signIn(other.url, "bob");
    const refused = await without.client.callTool({ name: "read_mail", arguments: {} });
    expect(refused.structuredContent).toMatchObject({ code: "scope_missing" });
    await without.client.close();
  });

  it("is named in the request for approval and in the audit log", async () => {
    const { tenant: _, ...without } = claims;
    const gateway = await signedInGateway({ issuer: server.issuer, claims: without });
    const { client } = await server.signIn(gateway.url, "ada");
    await client.callTool({ name: "send", arguments: {} });
    const asker = { user: "ada", agent: "editor", groups: ["platform", "on call"] };
    const { approvals } = await gateway.operator.approvals.list({});
    expect(approvals.map((one) => one.requested_by)).toMatchObject([asker]);
    const { events } = await gateway.operator.audit.list({ tool: "send" });
    expect(events.map((event) => event.principal)).toContainEqual(expect.objectContaining(asker));
    await client.close();
  });

  it("gets a token for one server's endpoint, which is good there only", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer });
    const metadata = await fetch(`${gateway.origin}/.well-known/oauth-protected-resource/mcp/files`);
    expect(await metadata.json()).toMatchObject({ resource: `${gateway.url}/files` });
    const token = await tokenFor(gateway, { aud: `${gateway.url}/files` });
    expect((await gateway.ask(token, "/mcp/files")).status).toBe(404); // past the token: no such server
    expect((await gateway.ask(token)).status).toBe(401);
    expect((await gateway.ask(token, "/mcp/mail")).status).toBe(401);
    expect((await gateway.ask(await tokenFor(gateway), "/mcp/files")).status).toBe(404);
  });

  it("is offered no tool that a rule denies to a group of the user", async () => {
    const rules = [{ effect: "deny", tool: "whoami", principal: { group: "plat*" } }] as const;
    const gateway = await signedInGateway({ issuer: server.issuer, claims }, { policy: { rules } });
    const { client } = await server.signIn(gateway.url, "ada");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["read_mail", "send"]);
    await client.close();
  });
});

describe("the metadata of /mcp", () => {
  it.each(["", "/mcp"])("says at `%s` who gives tokens, for which resource and with which scopes", async (path) => {
    const gateway = await signedInGateway({ issuer: server.issuer, requiredScopes: ["mcp"], scopes: ["mcp", "mail"] });
    const answered = await fetch(`${gateway.origin}/.well-known/oauth-protected-resource${path}`);
    expect(await answered.json()).toEqual({
      ...{ resource: gateway.url.href, resource_name: "Postern", authorization_servers: [server.issuer] },
      ...{ bearer_methods_supported: ["header"], scopes_supported: ["mcp", "mail"] },
    });
  });

  it("names the resource by its own address if the audience is a name", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer, audience: "postern-api" });
    const answered = await fetch(`${gateway.origin}/.well-known/oauth-protected-resource/mcp`);
    expect(await answered.json()).toMatchObject({ resource: gateway.url.href });
    expect((await gateway.ask(await tokenFor(gateway, { aud: ["other", "postern-api"] }))).status).toBe(200);
  });

  it("is where a refused client is sent, at each endpoint", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer, requiredScopes: ["mcp"], scopes: ["mcp", "mail"] });
    const metadata = `${gateway.origin}/.well-known/oauth-protected-resource/mcp`;
    expect(await refusal(await gateway.ask(undefined))).toMatchObject({
      ...{ status: 401, code: "token_missing", challenge: `Bearer resource_metadata="${metadata}", scope="mcp"` },
    });
    const { challenge } = await refusal(await gateway.ask("not-a-token", "/mcp/files"));
    expect(challenge).toBe(`Bearer resource_metadata="${metadata}/files", scope="mcp"`);
  });
});

describe("a token that is refused", () => {
  it.each<[string, (gateway: SignedInGateway) => Promise<string>]>([
    [
      "whose claims were changed",
      async (g) => {
        const [head, , signature] = (await tokenFor(g)).split(".");
        return `${head}.${payloadOf(await tokenFor(g, { sub: "root" }))}.${signature}`;
      },
    ],
    ["signed with a key of the same name", async (g) => tokenFor(g, {}, { key: await signingKey("first") })],
    ["without signature", async (g) => `${part({ alg: "none" })}.${payloadOf(await tokenFor(g))}.`],
    [
      "signed with the public key as a secret",
      async (g) => {
        const { n = "", e = "" } = server.key;
        const publicKey = await importJWK({ kty: "RSA", n, e }, "RS256", { extractable: true });
        if (publicKey instanceof Uint8Array) throw new Error("an RSA key is no text");
        const signed = `${part({ alg: "HS256", kid: "first" })}.${payloadOf(await tokenFor(g))}`;
        return `${signed}.${createHmac("sha256", await exportSPKI(publicKey))
          .update(signed)
          .digest("base64url")}`;
      },
    ],
    [
      "that brings its own key",
      async (g) => {
        const key = await signingKey("mine");
        const { n, e, kty } = key;
        const jwk = { n, e, kty } as unknown as string; // the header is sent as it is
        return tokenFor(g, {}, { key, header: { jwk, jku: `${server.issuer}/jwks` } });
      },
    ],
    ["for another audience", (g) => tokenFor(g, { aud: "https://other.example/mcp" })],
    ["without an audience", (g) => tokenFor(g, { aud: undefined })],
    ["of another issuer", (g) => tokenFor(g, { iss: "https://login.evil.example" })],
    ["that has expired", (g) => tokenFor(g, { exp: Math.floor(g.clock.now() / 1000) - 6 })],
    ["without an end", (g) => tokenFor(g, { exp: undefined })],
    ["that is not valid yet", (g) => tokenFor(g, { nbf: Math.floor(g.clock.now() / 1000) + 60 })],
    ["that says who signed in to a client", (g) => tokenFor(g, { nonce: "n" })],
    ["of another kind", (g) => tokenFor(g, {}, { header: { typ: "logout+jwt" } })],
  ])("%s gets 401 and where to sign in", async (_, make) => {
    const gateway = await signedInGateway({ issuer: server.issuer });
    const refused = await refusal(await gateway.ask(await make(gateway)));
    expect(refused).toMatchObject({ status: 401, code: "token_invalid" });
    expect(refused.challenge).toMatch(/^Bearer error="invalid_token", resource_metadata="/);
  });

  it("is refused from the moment it ends", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer });
    const { client, token } = await server.signIn(gateway.url, "bob");
    await client.close();
    expect((await gateway.ask(token)).status).toBe(200);
    await gateway.clock.advance(3_700_000);
    expect(await refusal(await gateway.ask(token))).toMatchObject({ status: 401, message: /expired/ });
  });

  it("ends the streams that were opened with it", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer });
    const token = await tokenFor(gateway);
    const session = (await gateway.ask(token)).headers.get("mcp-session-id") ?? "";
    const stream = await fetch(gateway.url, {
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream", "mcp-session-id": session },
    });
    expect(stream.status).toBe(200);
    await gateway.clock.advance(310_000);
    expect(await stream.text()).not.toContain("event: message");
  });

  it("gets 403 and the scope to ask for, if a required scope is missing", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer, requiredScopes: ["mcp", "mail"], scopes: [] });
    const refused = await refusal(await gateway.ask(await tokenFor(gateway)));
    expect(refused).toMatchObject({ status: 403, code: "scope_insufficient" });
    expect(refused.challenge).toMatch(/^Bearer error="insufficient_scope", .*scope="mcp mail"$/);
  });

  it.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    ["tenant", {}, /`org`.* missing/],
    ["tenant", { org: ["acme"] }, /`org`.*\["acme"\]/],
    ["user", { org: "a", sub: "a\u0000b" }, /`sub`/],
    ["agent", { org: "a", client: { agent: "operator-cli" } }, /`client\.agent`.*operator-cli/],
    ["agent", { org: "a", client: { agent: 7 } }, /`client\.agent`.* 7/],
    ["groups", { org: "a", groups: 5 }, /`groups`.* 5/],
    ["groups", { org: "a", groups: Array.from({ length: 65 }, (_, at) => `g${at}`) }, /at most 64/],
    ["scopes", { org: "a", scope: "mcp *" }, /`scope`.*`\*`/],
  ])("gets 403 with the name of the claim, if it has no %s that can be used", async (_, payload, why) => {
    const claims = { user: "sub", scopes: "scope", tenant: "org", groups: "groups", agent: "client.agent" };
    const gateway = await signedInGateway({ issuer: server.issuer, claims });
    const refused = await refusal(await gateway.ask(await tokenFor(gateway, payload)));
    expect(refused).toMatchObject({ status: 403, code: "token_claim_refused", message: why, challenge: "" });
  });

  it("is refused at /v1, which takes tokens of Postern's own", async () => {
    const gateway = await signedInGateway({ issuer: server.issuer });
    const headers = { authorization: `Bearer ${await tokenFor(gateway)}` };
    const refused = await refusal(await fetch(`${gateway.origin}/v1/tools`, { headers }));
    expect(refused).toMatchObject({ status: 401, code: "token_invalid", challenge: "Bearer" });
    expect(refused.message).toContain("`postern tokens create NAME`");
  });
});

it("takes tokens of Postern's own beside those of the authorization server", async () => {
  const gateway = await signedInGateway({ issuer: server.issuer });
  expect((await gateway.ask(gateway.agentToken)).status).toBe(200);
  expect((await gateway.ask(await tokenFor(gateway))).status).toBe(200);
});

describe("the keys of the authorization server", () => {
  it("may change: a token with a new key is taken, once its key is published", async () => {
    await using old = await AuthorizationServer.start();
    const { port, issuer, key } = old;
    const gateway = await signedInGateway({ issuer });
    const usual = { iss: issuer };
    expect((await gateway.ask(await tokenFor(gateway, usual, { key }))).status).toBe(200);
    await old.stop();
    const next = await signingKey("second");
    await using _now = await AuthorizationServer.start({ port, key: next });
    await gateway.clock.advance(10_000);
    expect((await gateway.ask(await tokenFor(gateway, usual, { key: next }))).status).toBe(200);
    expect((await gateway.ask(await tokenFor(gateway, usual, { key }))).status).toBe(401);
  });

  it("are needed for each first token: while the server is down, it gets 503 and when to ask again", async () => {
    const down = await AuthorizationServer.start();
    await down.stop();
    const gateway = await signedInGateway({ issuer: down.issuer });
    const token = await tokenFor(gateway, { iss: down.issuer }, { key: down.key });
    const answered = await gateway.ask(token);
    expect(answered.headers.get("retry-after")).toBe("10");
    expect(await refusal(answered)).toMatchObject({ status: 503, code: "issuer_unreachable", challenge: "" });
    expect(gateway.problems).toEqual([expect.stringContaining(`\`oauth.issuer\` \`${down.issuer}\` cannot be asked`)]);
    expect((await gateway.ask(gateway.agentToken)).status).toBe(200);
    await using _up = await AuthorizationServer.start({ port: down.port, key: down.key });
    await gateway.clock.advance(10_000);
    expect((await gateway.ask(token)).status).toBe(200);
  });

  it("are used for an hour while the server is down", async () => {
    const other = await metadataServer(publishing(server.key));
    const gateway = await signedInGateway({ issuer: other.issuer });
    const token = (): Promise<string> => tokenFor(gateway, { iss: other.issuer });
    expect((await gateway.ask(await token())).status).toBe(200);
    await other[Symbol.asyncDispose]();
    await gateway.clock.advance(3_500_000);
    expect((await gateway.ask(await token())).status).toBe(200);
    await gateway.clock.advance(100_000);
    expect((await gateway.ask(await token())).status).toBe(503);
  });

  it("are read once for many tokens with keys that do not exist", async () => {
    const reads: string[] = [];
    await using metadata = await metadataServer((issuer, path) => {
      reads.push(path);
      return publishing(server.key)(issuer, path);
    });
    const gateway = await signedInGateway({ issuer: metadata.issuer });
    for (const kid of ["a", "b", "c"]) {
      const token = await tokenFor(gateway, { iss: metadata.issuer }, { header: { kid } });
      expect((await gateway.ask(token)).status).toBe(401);
    }
    expect(reads.filter((path) => path === "/keys")).toHaveLength(1);
  });

  it("are not asked from a machine of this network that the metadata names", async () => {
    const reads: string[] = [];
    await using inside = await metadataServer((_, path) => {
      reads.push(path);
      return { keys: [] };
    });
    await using metadata = await metadataServer((issuer) => ({ issuer, jwks_uri: `${inside.issuer}/keys` }));
    const gateway = await signedInGateway({ issuer: metadata.issuer });
    const token = await tokenFor(gateway, { iss: metadata.issuer });
    expect((await gateway.ask(token)).status).toBe(503);
    expect(gateway.problems).toEqual([expect.stringContaining("nothing was sent to")]);
    expect(reads).toEqual([]);
  });

  it("are not taken from metadata of another issuer, which the operator is told", async () => {
    await using metadata = await metadataServer(() => ({
      issuer: "https://other.example",
      jwks_uri: "https://other.example/keys",
    }));
    const gateway = await signedInGateway({ issuer: metadata.issuer });
    expect((await gateway.ask(await tokenFor(gateway, { iss: metadata.issuer }))).status).toBe(503);
    expect(gateway.problems).toEqual([expect.stringContaining('names the issuer "https://other.example"')]);
  });
});

/** The metadata of an issuer with this key. */
function publishing({ n, e, kty, kid }: JWK): (issuer: string, path: string) => object {
  return (issuer, path) => (path === "/keys" ? { keys: [{ n, e, kty, kid }] } : { issuer, jwks_uri: `${issuer}/keys` });
}

/** Answers JSON by path. */
async function metadataServer(answer: (issuer: string, path: string) => object) {
  const http = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer(issuer, request.url ?? "")));
  });
  await new Promise<void>((listening) => http.listen(0, "127.0.0.1", listening));
  const { port } = http.address() as AddressInfo; // it listens on a port
  const issuer = `http://127.0.0.1:${port}`;
  const close = (): Promise<void> =>
    new Promise((closed) => {
      http.close(() => closed());
      http.closeAllConnections();
    });
  return { issuer, [Symbol.asyncDispose]: close };
}
