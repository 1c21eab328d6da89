import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { GuardedServer } from "../../../../../test/fakes/guarded-server.ts";
import { bodyOf, type HttpFixture, host, httpFixture, inSession } from "../../../../../test/fakes/http-fixture.ts";
import { signInAt } from "../../../../../test/fakes/openid-provider.ts";
import { type People, people } from "../../../../../test/fakes/people.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { createRuntime } from "../../runtime/create.ts";

let guarded: GuardedServer;
beforeAll(async () => {
  guarded = await GuardedServer.start();
});
afterAll(() => guarded[Symbol.asyncDispose]());

let crowd: People;
let runtime: Runtime;
let http: HttpFixture;
beforeEach(async () => {
  await guarded.tell({ reset: true, isOpen: true });
  crowd = await people();
  await crowd.add("ada", ["viewer"]);
  await crowd.add("olga", ["operator"]);
  const { url } = guarded;
  runtime = await createRuntime({
    servers: {
      mine: { url, oauth: {} },
      ours: { url, oauth: { per: "server" } },
      keyed: { url, headers: { "X-Api-Key": "secret://person/token" } },
      plain: { url },
    },
  });
  http = await httpFixture(runtime, { accounts: crowd.accounts, publicUrl: "https://postern.example" });
});
afterEach(async () => {
  await http[Symbol.asyncDispose]();
  await runtime.close(0);
});

async function begin(name: string, server: string) {
  const headers = inSession(await crowd.signIn(name));
  const answered = await http.ask(`/v1/connections/${server}/sign-in`, { method: "POST", body: {}, headers });
  return { answered, cookie: (answered.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
}

/** The browser comes back from the other site. */
function comeBack(back: URL, cookie: string): Promise<Response> {
  const headers = { cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  return http.ask(`${back.pathname}${back.search}`, { headers });
}

async function listed(name: string): Promise<Readonly<Record<string, boolean>>> {
  const headers = inSession(await crowd.signIn(name));
  const { connections } = await bodyOf(await http.ask("/v1/connections", { headers }));
  const rows = connections as readonly { readonly server: string; readonly connected: boolean }[]; // the contract's
  return Object.fromEntries(rows.map(({ server, connected }) => [server, connected]));
}

it("connects the person whose browser began, and no other", async () => {
  const { answered, cookie } = await begin("ada", "mine");
  expect(answered.headers.get("set-cookie")).toMatch(/Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
  const back = await signInAt(guarded.issuer, String((await bodyOf(answered))["url"]), "ada at the server");
  expect(back.origin).toBe(`http://${host}`);
  const strange = await comeBack(back, "");
  expect(strange.headers.get("location")).toBe("/connections?sign_in=refused");
  const done = await comeBack(back, cookie);
  expect([done.status, done.headers.get("location")]).toEqual([303, "/connections/mine?sign_in=done"]);
  expect((await comeBack(back, cookie)).headers.get("location")).toBe("/connections?sign_in=refused");
  expect(await listed("ada")).toEqual({ mine: true, ours: false, keyed: false });
  expect(await listed("olga")).toEqual({ mine: false, ours: false, keyed: false });
});

it("begins a sign-in only in the session of a browser", async () => {
  const asked = await http.ask("/v1/connections/mine/sign-in", { as: "operator", body: {} });
  expect(asked.status).toBe(422);
  expect(JSON.stringify(await bodyOf(asked))).toContain(`open http://${host}/connections/mine`);
  const byAgent = await http.ask("/v1/connections/mine/sign-in", { as: "agent", body: {} });
  expect(byAgent.status).toBe(403);
});

it("lets only a person who decides about tools change what all share", async () => {
  expect((await begin("ada", "ours")).answered.status).toBe(403);
  const { answered, cookie } = await begin("olga", "ours");
  const back = await signInAt(guarded.issuer, String((await bodyOf(answered))["url"]), "team");
  expect((await comeBack(back, cookie)).headers.get("location")).toBe("/connections/ours?sign_in=done");
  expect(await listed("ada")).toMatchObject({ ours: true });
  const headers = inSession(await crowd.signIn("ada"));
  expect((await http.ask("/v1/connections/ours", { method: "DELETE", headers })).status).toBe(403);
});

it("takes a key, never sends it back, and deletes it", async () => {
  const headers = inSession(await crowd.signIn("ada"));
  const body = { keys: { token: "the key of ada" } };
  const entered = await http.ask("/v1/connections/keyed", { method: "PUT", body, headers });
  expect(await bodyOf(entered)).toMatchObject({ server: "keyed", keys: ["token"], connected: true });
  expect(await (await http.ask("/v1/connections", { headers })).text()).not.toContain("the key of ada");
  const revoked = await http.ask("/v1/connections/keyed", { method: "DELETE", headers });
  expect(await bodyOf(revoked)).toEqual({ revoked: true });
  const unknown = await http.ask("/v1/connections/plain", { method: "DELETE", headers });
  expect(unknown.status).toBe(404);
});

it("tells authorization servers what Postern is, at its public address", async () => {
  const document = await bodyOf(await http.ask("/v1/connections/client"));
  expect(document).toMatchObject({
    client_id: "https://postern.example/v1/connections/client",
    redirect_uris: ["https://postern.example/v1/connections/callback"],
    token_endpoint_auth_method: "none",
  });
});

it("answers what it cannot begin with the reason", async () => {
  await guarded.tell({ dead: true });
  const { answered } = await begin("ada", "mine");
  expect(answered.status).toBe(502);
  expect(JSON.stringify(await bodyOf(answered))).toContain("cannot be begun");
});
