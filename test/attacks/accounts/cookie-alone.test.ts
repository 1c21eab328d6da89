import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { routes } from "../../../packages/postern/src/server/http/http-server.ts";
import { bodyOf, type HttpFixture, host, httpFixture, inSession } from "../../fakes/http-fixture.ts";
import { entered, goodPassword, here, holder, type People, people } from "../../fakes/people.ts";
import { matrix, pathOf } from "../../fakes/role-matrix.ts";
import { stubRuntime } from "../../fakes/stub-runtime.ts";

/**
 * A browser sends a cookie to every port of its host. A server on another port, such as an agent's, gets the cookies of
 * its visitors, and can send any headers because it is no browser.
 */
let users: People;
let http: HttpFixture;
let stub: ReturnType<typeof stubRuntime>;
beforeEach(async () => {
  users = await people();
  await users.add("ada", ["approver", "operator", "auditor", "admin"]);
  stub = stubRuntime();
  const { accounts, clock } = users;
  http = await httpFixture(stub.runtime, { accounts, clock, mcp: async () => Response.json({}) });
});
afterEach(() => http[Symbol.asyncDispose]());

const closed = routes.filter(({ needs }) => needs !== "nothing").map(({ method, path }) => `${method} ${path}`);
const others = ["get /openapi.json", "head /v1/approvals", "post /mcp", "get /mcp", "get /mcp/echo"];

describe("a session cookie without its proof is refused", () => {
  it.each([...closed, ...others])("%s", async (route) => {
    const { "x-postern-csrf": _proof, ...stolen } = inSession(await users.signIn("ada"));
    const stranger = entered(await users.accounts.signIn("ada", goodPassword, here));
    const [method = "", path = ""] = route.split(" ");
    const body = matrix[route]?.body;
    for (const proof of [
      {},
      { "x-postern-csrf": "" },
      { "x-postern-csrf": stranger.csrf },
      { "x-postern-csrf": "x" },
    ]) {
      const answered = await http.ask(pathOf(path), {
        method: method.toUpperCase(),
        ...(body !== undefined && { body }),
        headers: { ...stolen, ...proof },
      });
      expect(answered.status).toBe(401);
      expect(answered.headers.get("set-cookie")).toBeNull();
      await answered.body?.cancel();
    }
    expect(stub.requests).toEqual([]);
  });
});

it("says that a page which lost its proof must sign in again", async () => {
  const { cookie = "" } = inSession(await users.signIn("ada"));
  const answered = await http.ask("/v1/session", { headers: { cookie } });
  expect([answered.status, await bodyOf(answered)]).toMatchObject([
    401,
    { error: { code: "csrf_refused", message: expect.stringContaining("signs in again") } },
  ]);
});

it("gives the proof only in the answer to signing in, and stores it nowhere", async () => {
  const asked = (path: string, headers: Readonly<Record<string, string>>) => http.ask(path, { headers });
  const answered = await http.ask("/v1/session", { body: { name: "ada", password: goodPassword } });
  const cookie = answered.headers.get("set-cookie")?.split(";")[0] ?? "";
  const csrf = String((await bodyOf(answered))["csrf"]);
  expect(csrf).toHaveLength(43);
  const shown = { cookie, "x-postern-csrf": csrf };
  for (const { method, path } of routes.filter((one) => one.method === "get" && one.path !== "/v1/events")) {
    const response = await asked(pathOf(path), shown);
    expect([method, path, [...response.headers].join(), await response.text()].join("\n")).not.toContain(csrf);
  }
  const { store } = users;
  for (const id of await store.documents.list("session", ""))
    expect(JSON.stringify(await store.documents.get("session", id))).not.toContain(csrf);
  for await (const { body } of store.events({ after: -1 })) expect(body).not.toContain(csrf);
});

it("a cookie planted by another port, beside ours or instead of it, opens no session", async () => {
  const [ada, eve] = [await users.signIn("ada"), await users.add("eve", ["viewer"]).then(() => users.signIn("eve"))];
  const planted = { ...inSession(eve), "x-postern-csrf": ada.csrf };
  expect((await http.ask("/v1/session", { headers: planted })).status).toBe(401);
  const both = { ...inSession(ada), cookie: `postern_session=${eve.cookie}; postern_session=${ada.cookie}` };
  expect((await http.ask("/v1/session", { headers: both })).status).toBe(401);
});

it("reads over TLS only the cookie that no other port can set", async () => {
  const { accounts, clock } = users;
  await using far = await httpFixture(stub.runtime, { accounts, clock, hosts: [host, "https://gate.example"] });
  const { cookie, csrf } = await users.signIn("ada");
  const read = async (name: string): Promise<number> => {
    const headers = { cookie: `${name}=${cookie}`, "x-postern-csrf": csrf };
    return (await far.server.fetch(new Request("http://gate.example/v1/session", { headers }))).status;
  };
  expect(await read("__Host-postern_session")).toBe(200);
  expect(await read("postern_session")).toBe(401);
});

it("a request without the proof leaves the owner's session as it was", async () => {
  const ada = await users.signIn("ada");
  await users.clock.advance(15 * 60_000);
  for (let tries = 0; tries < 5; tries += 1)
    expect((await http.ask("/v1/session", { headers: { cookie: `postern_session=${ada.cookie}` } })).status).toBe(401);
  await users.accounts.change("ada", { displayName: "Ada" }, holder);
  const good = await http.ask("/v1/session", { headers: inSession(ada) });
  expect([good.status, good.headers.get("set-cookie")]).toEqual([200, expect.stringContaining("postern_session=")]);
});
