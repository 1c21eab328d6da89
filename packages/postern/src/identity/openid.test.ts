import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { host, httpFixture } from "../../../../test/fakes/http-fixture.ts";
import { OpenIdProvider } from "../../../../test/fakes/openid-provider.ts";
import { goodPassword, holder, people } from "../../../../test/fakes/people.ts";
import { stubRuntime } from "../../../../test/fakes/stub-runtime.ts";
import { eventIn } from "../audit/entry.ts";
import { OpenId, type OpenIdSettings } from "./openid.ts";

const callback = "/v1/session/openid/callback";
let provider: OpenIdProvider;
beforeAll(async () => {
  provider = await OpenIdProvider.start(`http://${host}${callback}`, {
    ada: { name: "Ada L.", email: "Ada@Example.com", email_verified: true, groups: ["gatekeepers", "night shift"] },
    bob: { name: "Bob", email: "bob@example.com", email_verified: false, preferred_username: "bob" },
    eve: { name: "Eve", email: "eve@evil.example", email_verified: true },
    mallory: { preferred_username: "root" },
    odd: { preferred_username: "../../etc" },
    silent: {},
  });
});
afterAll(() => provider[Symbol.asyncDispose]());

/** A door with accounts and the provider, and what a browser does at it. */
async function scene(more: Partial<OpenIdSettings> = {}) {
  const crowd = await people();
  const settings: OpenIdSettings = {
    issuer: provider.issuer,
    clientId: "postern",
    clientSecret: "secret://openid/client",
    label: "Example",
    scopes: ["openid", "profile", "email"],
    roles: { gatekeepers: ["approver"] },
    defaultRoles: ["viewer"],
    unknown: "create",
    tenant: "default",
    ...more,
  };
  const resolve = async (text: string) => (text === "secret://openid/client" ? "a secret of the client" : text);
  const key = randomBytes(32);
  const sealed = async () => ({ store: crowd.store, key });
  const openId = new OpenId(settings, { clock: crowd.clock, resolve, sealed });
  const { accounts, clock } = crowd;
  const house = await httpFixture(stubRuntime().runtime, { accounts, clock, openId });
  const begin = async (to = "/approvals/apr_1") => {
    const answered = await house.ask(`/v1/session/openid?to=${encodeURIComponent(to)}`);
    expect(answered.status).toBe(303);
    const setCookie = answered.headers.get("set-cookie") ?? "";
    return { url: answered.headers.get("location") ?? "", setCookie, cookie: setCookie.split(";")[0] ?? "" };
  };
  /** The provider's page sends the browser back. */
  const comeBack = async (back: URL, cookie: string) => {
    const headers = { cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    const answered = await house.ask(`${back.pathname}${back.search}`, { headers });
    const cookies = answered.headers.getSetCookie();
    const session = cookies.find((one) => one.startsWith("postern_session="))?.split(";")[0];
    const [location = "", csrf = ""] = (answered.headers.get("location") ?? "").split("#csrf=");
    const shown = { cookie: session ?? "", "x-postern-csrf": csrf };
    return { status: answered.status, location, session, cookies, shown };
  };
  const signIn = async (login: string) => {
    const { url, cookie } = await begin();
    return comeBack(await provider.signIn(url, login), cookie);
  };
  const whyNot = async () => {
    for await (const { body } of crowd.store.events({ after: -1 })) {
      const { type, data } = eventIn(body) ?? {};
      if (type === "operator.action.sign_in_failed") return String(Object(data).why);
    }
    return undefined;
  };
  return { crowd, house, begin, comeBack, signIn, whyNot };
}

const refused = { status: 303, location: "/sign-in?problem=openid_refused", session: undefined };

describe("signing in at an OpenID provider", () => {
  it("goes there with PKCE, state and nonce, and comes back to the page it began at, as a person with an account", async () => {
    const { crowd, house, begin, comeBack } = await scene({ rolesClaim: "groups", groupsClaim: "groups" });
    const { url, setCookie, cookie } = await begin();
    const asked = new URL(url).searchParams;
    expect(asked.get("code_challenge_method")).toBe("S256");
    for (const name of ["code_challenge", "state", "nonce"]) expect(asked.get(name)?.length, name).toBeGreaterThan(40);
    expect(setCookie).toMatch(/Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
    const { status, location, shown, cookies } = await comeBack(await provider.signIn(url, "ada"), cookie);
    expect([status, location]).toEqual([303, "/approvals/apr_1"]);
    expect(cookies.find((one) => one.startsWith("postern_session="))).toMatch(/HttpOnly; SameSite=Strict$/);
    const who = await house.ask("/v1/session", { headers: shown });
    expect(await who.json()).toMatchObject({
      user: { name: "ada@example.com", display_name: "Ada L." },
      roles: ["viewer", "approver"],
      groups: ["gatekeepers", "night shift"],
      signed_in: true,
    });
    expect(await crowd.acts()).toEqual(["account_added", "sign_in"]);
  });

  it("finds the same person again by the provider's subject, and keeps roles that the provider does not tell", async () => {
    const { crowd, signIn } = await scene();
    await signIn("ada");
    await crowd.accounts.change("ada@example.com", { roles: ["auditor"] }, holder);
    expect((await signIn("ada")).session).toBeDefined();
    expect(await crowd.accounts.list(holder)).toMatchObject([{ name: "ada@example.com", roles: ["auditor"] }]);
  });

  it("takes roles away at the next sign-in when the provider no longer tells them", async () => {
    const { crowd, signIn } = await scene({ rolesClaim: "groups" });
    await signIn("ada");
    await crowd.accounts.change("ada@example.com", { roles: ["admin"] }, holder);
    await signIn("ada");
    expect(await crowd.accounts.list(holder)).toMatchObject([{ roles: ["viewer", "approver"] }]);
  });

  it("refuses a user without an account, unless accounts are created", async () => {
    const { crowd, signIn, whyNot } = await scene({ unknown: "refuse" });
    expect(await signIn("ada")).toMatchObject(refused);
    expect(await whyNot()).toBe("no account");
    expect(crowd.accounts.exist).toBe(false);
  });

  it("refuses who is disabled here", async () => {
    const { crowd, signIn, whyNot } = await scene();
    await signIn("ada");
    await crowd.accounts.change("ada@example.com", { disabled: true }, holder);
    expect(await signIn("ada")).toMatchObject(refused);
    expect(await whyNot()).toBe("disabled");
  });

  it("lets in only verified addresses of allowed domains", async () => {
    const { signIn, whyNot } = await scene({ allowedDomains: ["example.com"] });
    for (const login of ["eve", "bob", "silent"]) expect(await signIn(login), login).toMatchObject(refused);
    expect(await whyNot()).toMatch(/evil\.example is not allowed/);
    expect((await signIn("ada")).session).toBeDefined();
  });

  it("takes over no account that another person has, and makes none with a bad name", async () => {
    const { crowd, signIn } = await scene();
    await crowd.accounts.add({ name: "root", roles: ["admin"], password: goodPassword }, holder);
    for (const login of ["mallory", "odd", "silent"]) expect(await signIn(login), login).toMatchObject(refused);
    expect(await crowd.accounts.list(holder)).toMatchObject([{ name: "root", signsIn: "password" }]);
  });
});

describe("what comes back from a provider is refused", () => {
  it("with another state, with none, or with a state that was never issued", async () => {
    const { begin, comeBack, whyNot } = await scene();
    for (const state of ["x".repeat(43), undefined]) {
      const { url, cookie } = await begin();
      const back = await provider.signIn(url, "ada");
      if (state === undefined) back.searchParams.delete("state");
      else back.searchParams.set("state", state);
      expect(await comeBack(back, cookie)).toMatchObject(refused);
    }
    expect(await whyNot()).toBe("begun in another browser, used or too old");
  });

  it("a second time", async () => {
    const { begin, comeBack } = await scene();
    const { url, cookie } = await begin();
    const back = await provider.signIn(url, "ada");
    expect((await comeBack(back, cookie)).session).toBeDefined();
    expect(await comeBack(back, cookie)).toMatchObject(refused);
  });

  it("with another nonce in the ID token than was sent", async () => {
    const { begin, comeBack, whyNot } = await scene();
    const { url, cookie } = await begin();
    const tampered = new URL(url);
    tampered.searchParams.set("nonce", "another-nonce-than-was-sent-by-us");
    expect(await comeBack(await provider.signIn(tampered.href, "ada"), cookie)).toMatchObject(refused);
    expect(await whyNot()).toMatch(/nonce|JWT claim/i);
  });

  it("with a code for another challenge: a stolen code is of no use", async () => {
    const { begin, comeBack } = await scene();
    const [victim, thief] = [await begin(), await begin()];
    const stolen = (await provider.signIn(victim.url, "ada")).searchParams.get("code") ?? "";
    const back = await provider.signIn(thief.url, "eve");
    back.searchParams.set("code", stolen);
    expect(await comeBack(back, thief.cookie)).toMatchObject(refused);
  });

  it("to another browser than it started in", async () => {
    const { begin, comeBack, whyNot } = await scene();
    const [one, other] = [await begin(), await begin()];
    const back = await provider.signIn(one.url, "ada");
    expect(await comeBack(back, other.cookie)).toMatchObject(refused);
    expect(await whyNot()).toBe("begun in another browser, used or too old");
    expect(await comeBack(await provider.signIn((await begin()).url, "ada"), "")).toMatchObject(refused);
  });

  it("after ten minutes, and as an error of the provider", async () => {
    const { crowd, begin, comeBack } = await scene();
    const late = await begin();
    const back = await provider.signIn(late.url, "ada");
    await crowd.clock.advance(600_000);
    expect(await comeBack(back, late.cookie)).toMatchObject(refused);
    const { url, cookie } = await begin();
    const state = new URL(url).searchParams.get("state") ?? "";
    const denied = new URL(`http://${host}${callback}?error=access_denied&state=${state}`);
    expect(await comeBack(denied, cookie)).toMatchObject(refused);
  });

  it.each([
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "/v1/session",
    "/a b",
    "/\r\nset-cookie: x=y",
    "/a#csrf=x",
  ])("to %j: it comes back to a page of this site", async (to) => {
    const { begin, comeBack } = await scene();
    const { url, cookie } = await begin(to);
    expect((await comeBack(await provider.signIn(url, "ada"), cookie)).location).toBe("/");
  });
});

describe("a crowd of beginnings", () => {
  it("ends no sign-in that started before or starts after", async () => {
    const { crowd, house, begin, comeBack } = await scene();
    const first = await begin();
    for (let second = 0; second < 150; second += 1) {
      for (let tries = 0; tries < 10; tries += 1) await house.ask("/v1/session/openid");
      await crowd.clock.advance(1_000);
    }
    for (const { url, cookie } of [first, await begin()])
      expect((await comeBack(await provider.signIn(url, "ada"), cookie)).session).toBeDefined();
  });

  it("is slowed down after ten in a second from one address, and no other address with it", async () => {
    const { crowd, house } = await scene();
    const start = async (address: string) => {
      const answered = await house.server.fetch(new Request(`http://${host}/v1/session/openid`), { address });
      return [answered.status, answered.headers.get("retry-after")];
    };
    for (let tries = 0; tries < 10; tries += 1) expect(await start("10.0.0.1")).toEqual([303, null]);
    expect(await start("10.0.0.1")).toEqual([429, "1"]);
    expect(await start("10.0.0.2")).toEqual([303, null]);
    await crowd.clock.advance(1_000);
    expect(await start("10.0.0.1")).toEqual([303, null]);
  });

  it("that come back with nothing leaves ten entries a second in the log, and lets the right one in", async () => {
    const { crowd, begin, comeBack } = await scene();
    const back = new URL(`http://${host}${callback}?code=x&state=y`);
    for (let tries = 0; tries < 30; tries += 1) expect(await comeBack(back, "")).toMatchObject(refused);
    expect((await crowd.acts()).filter((act) => act === "sign_in_failed")).toHaveLength(10);
    const { url, cookie } = await begin();
    expect((await comeBack(await provider.signIn(url, "ada"), cookie)).session).toBeDefined();
  });

  it("cannot be forged, opened or altered by the browser that keeps it", async () => {
    const { begin, comeBack } = await scene();
    const { url, cookie } = await begin();
    const back = await provider.signIn(url, "ada");
    const state = back.searchParams.get("state") ?? "";
    const [name = "", sealed = ""] = cookie.split("=");
    expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toContain(state);
    const plain = JSON.stringify({ state, to: "/", redirectUri: `http://${host}${callback}`, until: 9e15 });
    const flipped = Buffer.from(sealed, "base64url");
    flipped[40] = (flipped[40] ?? 0) ^ 1;
    for (const forged of [
      "",
      "x",
      sealed.slice(2),
      Buffer.from(plain).toString("base64url"),
      flipped.toString("base64url"),
    ])
      expect(await comeBack(back, `${name}=${forged}`), forged).toMatchObject(refused);
    expect((await comeBack(back, cookie)).session).toBeDefined();
  });
});

it("says that a provider cannot be asked, and asks again at the next try", async () => {
  const { house } = await scene({ issuer: "http://127.0.0.1:1" });
  for (let tries = 0; tries < 2; tries += 1) {
    const answered = await house.ask("/v1/session/openid");
    expect(answered.status).toBe(502);
    expect(await answered.text()).toContain("cannot be asked");
  }
});
