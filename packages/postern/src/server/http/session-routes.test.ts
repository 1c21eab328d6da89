import { describe, expect, it } from "vitest";
import { bodyOf, host, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { goodPassword, holder } from "../../../../../test/fakes/people.ts";
import { type Scene, scene } from "../../../../../test/fakes/session-scene.ts";
import { stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";

const origin = `http://${host}`;

describe("signing in to the console", () => {
  it("sets a cookie no script can read, for this site alone, and tells who is here", async () => {
    const { crowd, http, signIn } = await scene();
    await crowd.add("ada", ["approver"]);
    const { shown, setCookie } = await signIn("ada");
    expect(setCookie).toMatch(
      /^postern_session=usr_[\w-]+-0\.[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    const who = await bodyOf(await http.ask("/v1/session", { headers: shown }));
    expect(who).not.toHaveProperty("csrf"); // told once
    expect(who).toMatchObject({
      user: { name: "ada", display_name: "ada" },
      tenant: "default",
      roles: ["approver"],
      permissions: expect.arrayContaining(["approvals:decide"]),
      signed_in: true,
      credential: "session",
    });
  });

  it("shows a person without a role who they are and lets them sign out, nothing else", async () => {
    const { crowd, http, signIn } = await scene();
    await crowd.add("newcomer", []);
    const { shown } = await signIn("newcomer");
    expect(await bodyOf(await http.ask("/v1/session", { headers: shown }))).toMatchObject({
      ...{ user: { name: "newcomer" }, roles: [], permissions: ["session:own"] },
    });
    for (const path of ["/v1/approvals", "/v1/events", "/v1/tools", "/v1/tokens"])
      expect((await http.ask(path, { headers: shown })).status, path).toBe(403);
    const out = await http.ask("/v1/session", { method: "DELETE", headers: { ...shown, origin } });
    expect(out.status).toBe(204);
  });

  it("shows the full command to people of the own tenant, and no path to others", async () => {
    const command = { full: "postern --data /srv/store", withoutValues: "postern --data …" };
    const { crowd, http, signIn } = await scene({ command });
    await crowd.add("ada", ["viewer"]);
    await crowd.add("eve", ["viewer"], "elsewhere");
    const received = async (asked: Promise<Response>) => (await bodyOf(await asked))["command"];
    const session = (name: string) => signIn(name).then(({ shown }) => http.ask("/v1/session", { headers: shown }));
    expect(await received(session("ada"))).toBe(command.full);
    expect(await received(http.ask("/v1/session", { as: "operator" }))).toBe(command.full);
    for (const asked of [session("eve"), http.ask("/v1/session/ways")])
      expect(await received(asked)).toBe(command.withoutValues);
    expect(await (await http.ask("/v1/session", { as: "agent" })).text()).not.toContain("/srv");
  });

  it("says Secure and __Host- where the browser came over TLS, and knows its own name there", async () => {
    const { crowd, http } = await scene();
    await crowd.add("ada", ["viewer"]);
    const asked = (from: string) =>
      http.server.fetch(
        new Request("http://gate.example/v1/session", {
          method: "POST",
          headers: { "content-type": "application/json", origin: from },
          body: JSON.stringify({ name: "ada", password: goodPassword }),
        }),
      );
    const answered = await asked("https://gate.example");
    const setCookie = answered.headers.get("set-cookie") ?? "";
    expect(setCookie).toMatch(/^__Host-postern_session=usr_\S+; Path=\/; .*; Secure$/);
    expect((await asked("http://gate.example")).status).toBe(403);
    const [cookie = ""] = setCookie.split(";");
    const proof = { "x-postern-csrf": String((await bodyOf(answered))["csrf"]) };
    const read = (shown: string) =>
      http.server.fetch(new Request("http://gate.example/v1/session", { headers: { cookie: shown, ...proof } }));
    expect((await read(cookie)).status).toBe(200);
    expect((await read(cookie.replace("__Host-", ""))).status).toBe(401); // any port could have set that one
  });

  it("answers the same for a wrong name, a wrong password and a disabled account, and tells a link that is none", async () => {
    const { crowd, http } = await scene();
    await crowd.add("ada", ["viewer"]);
    await crowd.add("off", ["viewer"]);
    await crowd.accounts.change("off", { disabled: true }, holder);
    const bodies = await Promise.all(
      [
        ["/v1/session", { name: "ada", password: "wrong horse battery" }],
        ["/v1/session", { name: "nobody", password: goodPassword }],
        ["/v1/session", { name: "off", password: goodPassword }],
        ["/v1/session/link", { token: "b3BlcmF0b3I.x" }],
      ].map(async ([path, body]) => {
        const answered = await http.ask(String(path), { body });
        expect(answered.status).toBe(401);
        expect(answered.headers.get("set-cookie")).toBeNull();
        return answered.text();
      }),
    );
    const [wrong = "", ...others] = bodies;
    const [link] = others.splice(-1);
    expect(new Set([wrong, ...others]).size).toBe(1);
    expect(wrong).toContain("Name or password is wrong.");
    expect(link).toContain("A link works once");
  });

  it("slows down after ten bad tries in a second, and says for how long", async () => {
    const { crowd, http } = await scene();
    await crowd.add("ada", ["viewer"]);
    const wrong = { body: { name: "ada", password: "wrong horse battery" } };
    for (let tries = 0; tries < 10; tries += 1) expect((await http.ask("/v1/session", wrong)).status).toBe(401);
    const slow = await http.ask("/v1/session", wrong);
    expect([slow.status, slow.headers.get("retry-after")]).toEqual([429, "1"]);
    await crowd.clock.advance(1_000);
    expect((await http.ask("/v1/session", { body: { name: "ada", password: goodPassword } })).status).toBe(200);
  });

  it("by a link is for once", async () => {
    const { crowd, http } = await scene();
    const { token } = await crowd.accounts.makeLink("operator", holder);
    const first = await http.ask("/v1/session/link", { body: { token } });
    expect(await bodyOf(first)).toMatchObject({ user: { name: "operator" }, signed_in: true });
    expect((await http.ask("/v1/session/link", { body: { token } })).status).toBe(401);
  });

  it("is offered in the ways there are", async () => {
    const { crowd, http } = await scene();
    expect(await bodyOf(await http.ask("/v1/session/ways"))).toEqual({ password: false, accounts: false });
    await crowd.add("ada", ["viewer"]);
    expect(await bodyOf(await http.ask("/v1/session/ways"))).toEqual({ password: true, accounts: true });
    expect((await http.ask("/v1/session/openid")).status).toBe(501);
  });
});

describe("a session", () => {
  it("changes something only with its CSRF token and from a page of this site", async () => {
    const { crowd, http, signIn } = await scene();
    await crowd.add("ada", ["operator"]);
    await crowd.add("bob", ["operator"]);
    const { cookie, csrf } = await signIn("ada");
    const { csrf: other } = await signIn("bob");
    const pause = (headers: Readonly<Record<string, string>>) =>
      http.ask("/v1/controls/pause", { body: {}, headers: { cookie, ...headers } }).then(({ status }) => status);
    expect(await pause({ origin, "x-postern-csrf": csrf })).toBe(200);
    expect(await pause({ origin })).toBe(401);
    expect(await pause({ origin, "x-postern-csrf": other })).toBe(401);
    expect(await pause({ origin, "x-postern-csrf": "" })).toBe(401);
    expect(await pause({ "x-postern-csrf": csrf })).toBe(403);
    expect(await pause({ origin: "null", "x-postern-csrf": csrf })).toBe(403);
    expect(await pause({ origin: "http://evil.example", "x-postern-csrf": csrf })).toBe(403);
    expect(await pause({ origin, "sec-fetch-site": "same-site", "x-postern-csrf": csrf })).toBe(403);
  });

  it("ends by signing out: the cookie is dropped and refused from then on", async () => {
    const { crowd, http, signIn } = await scene();
    await crowd.add("ada", ["viewer"]);
    const { cookie, csrf } = await signIn("ada");
    const out = await http.ask("/v1/session", {
      method: "DELETE",
      headers: { cookie, origin, "x-postern-csrf": csrf },
    });
    expect(out.status).toBe(204);
    expect(out.headers.get("set-cookie")).toMatch(/^postern_session=; Path=\/; Max-Age=0;/);
    const after = await http.ask("/v1/tools", { headers: { cookie, "x-postern-csrf": csrf } });
    expect(after.status).toBe(401);
    expect(await bodyOf(after)).toMatchObject({ error: { code: "session_ended" } });
  });

  it("is no way in to MCP, and a token beside a cookie counts alone", async () => {
    const { crowd, http, signIn } = await scene();
    await crowd.add("ada", ["operator"]);
    const { cookie, csrf } = await signIn("ada");
    const signedIn = { cookie, origin, "x-postern-csrf": csrf };
    expect((await http.ask("/mcp", { body: {}, headers: signedIn })).status).toBe(403);
    expect((await http.ask("/v1/tools", { as: "agent", headers: { cookie } })).status).toBe(200);
    expect((await http.ask("/v1/controls/pause", { as: "agent", body: {}, headers: signedIn })).status).toBe(403);
    const wrong = { cookie, authorization: "Bearer wrong" };
    expect((await http.ask("/v1/session", { headers: wrong })).status).toBe(401);
  });

  it("is refused if two cookies of its name are sent", async () => {
    const { crowd, http, signIn } = await scene();
    await crowd.add("ada", ["viewer"]);
    const { cookie, shown } = await signIn("ada");
    for (const both of [`postern_session=planted; ${cookie}`, `${cookie}; postern_session=planted`])
      expect((await http.ask("/v1/session", { headers: { ...shown, cookie: both } })).status).toBe(401);
  });

  it("gets its new cookie with an ordinary answer, and goes on", async () => {
    const { crowd, http, signIn } = await scene();
    await crowd.add("ada", ["viewer"]);
    const { cookie, shown } = await signIn("ada");
    await crowd.clock.advance(15 * 60_000);
    const rotated = (await http.ask("/v1/session", { headers: shown })).headers.get("set-cookie") ?? "";
    expect(rotated).toMatch(/HttpOnly; SameSite=Strict$/);
    const next = rotated.split(";")[0] ?? "";
    expect(next).not.toBe(cookie);
    expect((await http.ask("/v1/session", { headers: { ...shown, cookie: next } })).status).toBe(200);
  });

  it("changes its own password with the one before, and every session of that person ends", async () => {
    const { crowd, http, signIn } = await scene();
    await crowd.add("ada", ["viewer"]);
    const [one, two] = [await signIn("ada"), await signIn("ada")];
    const change = (current: string, password: string) =>
      http.ask("/v1/session/password", {
        method: "PUT",
        body: { current, password },
        headers: { cookie: one.cookie, origin, "x-postern-csrf": one.csrf },
      });
    expect((await change("wrong horse battery", "another horse battery")).status).toBe(401);
    expect((await change(goodPassword, "short")).status).toBe(422);
    expect((await change(goodPassword, "another horse battery")).status).toBe(204);
    for (const { shown } of [one, two]) expect((await http.ask("/v1/session", { headers: shown })).status).toBe(401);
  });

  it("follows a link to a page from another site, and to nothing of the API", async () => {
    const { crowd } = await scene();
    const { accounts, clock } = crowd;
    const page = () => new Response("page");
    await using http = await httpFixture(stubRuntime().runtime, { accounts, clock, page });
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect(await (await http.ask("/approvals/apr_1", { headers: link })).text()).toBe("page");
    expect((await http.ask("/v1/tools", { as: "agent", headers: link })).status).toBe(403);
    expect((await http.ask("/approvals", { headers: { ...link, "sec-fetch-mode": "no-cors" } })).status).toBe(403);
    expect((await http.ask("/approvals", { method: "POST", raw: "", headers: link })).status).toBe(403);
  });
});

it("slows a credential down that decides on ten things in a second that are not there", async () => {
  const { crowd, http } = await scene();
  const guess = () => http.ask("/v1/approvals/apr_guessed/approve", { as: "operator", body: {} });
  for (let tries = 0; tries < 10; tries += 1) expect((await guess()).status).toBe(404);
  const slow = await guess();
  expect([slow.status, slow.headers.get("retry-after")]).toEqual([429, "1"]);
  await crowd.clock.advance(1_000);
  expect((await guess()).status).toBe(404);
});

describe("a stream that goes on", () => {
  const followed = async (change: (of: Scene & { readonly cookie: string }) => Promise<unknown>) => {
    const here = await scene();
    await here.crowd.add("ada", ["viewer"]);
    const { cookie, shown } = await here.signIn("ada");
    const answered = await here.http.ask("/v1/events", { headers: shown });
    expect([answered.status, answered.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const ended = answered.text();
    await change({ ...here, cookie: cookie.replace("postern_session=", "") });
    return ended;
  };

  it.each([
    ["signs out", ({ crowd, cookie }: Scene & { readonly cookie: string }) => crowd.accounts.signOut(cookie)],
    ["is disabled", ({ crowd }: Scene) => crowd.accounts.change("ada", { disabled: true }, holder)],
    ["gets another password", ({ crowd }: Scene) => crowd.accounts.setPassword("ada", "another horse battery", holder)],
    ["was signed in for a week", ({ crowd }: Scene) => crowd.clock.advance(7 * 86_400_000)],
  ])("ends when its reader %s", async (_, change) => {
    expect(await followed(change)).not.toContain("data:");
  });
});
