import { describe, expect, it } from "vitest";
import { bodyOf, host } from "../../../../../test/fakes/http-fixture.ts";
import { scene } from "../../../../../test/fakes/session-scene.ts";

const origin = `http://${host}`;

describe("an API token", () => {
  const made = async (kind: "agent" | "person") => {
    const { crowd, http, requests, signIn } = await scene();
    await crowd.add("ada", ["operator", "approver"]);
    const { cookie, csrf } = await signIn("ada");
    const signedIn = { cookie, origin, "x-postern-csrf": csrf };
    const body = { name: "ci", kind, scopes: ["mail:write"], ...(kind === "agent" && { agent: "mailer" }) };
    const answered = await http.ask("/v1/tokens", { body, headers: signedIn });
    expect(answered.status).toBe(201);
    const { token, details } = (await bodyOf(answered)) as { token: string; details: { id: string } }; // its schema
    const bearer = { authorization: `Bearer ${token}` };
    return { http, requests, signedIn, bearer, id: details.id };
  };

  it("works at once, is named in what it does, and is refused after it was revoked", async () => {
    const { http, bearer, id, signedIn } = await made("person");
    expect((await http.ask("/v1/controls/pause", { body: {}, headers: bearer })).status).toBe(200);
    expect(await bodyOf(await http.ask("/v1/session", { headers: bearer }))).toMatchObject({
      user: { name: "ada" },
      signed_in: false,
      credential: "api-token",
    });
    const revoked = await http.ask(`/v1/tokens/${id}`, { method: "DELETE", headers: signedIn });
    expect(await bodyOf(revoked)).toMatchObject({ id, revoked_at: expect.any(String) });
    expect((await http.ask("/v1/tools", { headers: bearer })).status).toBe(401);
  });

  it("of an agent calls under its owner's name with its own scopes, and decides nothing", async () => {
    const { http, requests, bearer, id } = await made("agent");
    expect((await http.ask("/v1/approvals/apr_1/approve", { body: {}, headers: bearer })).status).toBe(403);
    expect((await http.ask("/v1/tokens", { headers: bearer })).status).toBe(403);
    await http.ask("/v1/calls", { body: { tool: "echo", scopes: ["mail:write", "mail:read"] }, headers: bearer });
    const principal = { tenant: "default", agent: "ada/mailer", via: `token:${id}` };
    expect(requests).toMatchObject([["invoke", { tool: "echo" }, { principal, scopes: ["mail:write"] }]]);
  });

  it("cannot make or revoke tokens, whatever its owner may do", async () => {
    const { http, bearer, id } = await made("person");
    expect((await http.ask("/v1/tokens", { body: { name: "more", kind: "person" }, headers: bearer })).status).toBe(
      403,
    );
    expect((await http.ask(`/v1/tokens/${id}`, { method: "DELETE", headers: bearer })).status).toBe(403);
  });
});
