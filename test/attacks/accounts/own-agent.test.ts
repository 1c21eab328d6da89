import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture, inSession } from "../../fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

let h: RuntimeFixture;
let http: HttpFixture;
beforeEach(async () => {
  h = await runtimeFixture({
    approvals: { patience: "suspend", routes: [{ name: "others", separateUser: true }] },
    accounts: { passwordCost: cheap },
  });
  http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
  for (const name of ["eve", "ann"])
    await h.runtime.accounts.add({ name, roles: ["approver", "operator", "admin"], password: goodPassword }, holder);
});
afterEach(async () => {
  await http[Symbol.asyncDispose]();
  await h.runtime.close();
});

async function session(name: string): Promise<Readonly<Record<string, string>>> {
  return inSession(entered(await h.runtime.accounts.signIn(name, goodPassword, here)));
}

/** Makes a call through a token that a person made for an agent. */
async function asks(name: string, claims: object): Promise<string> {
  const made = await http.ask("/v1/tokens", {
    headers: await session(name),
    body: { name: "bot", kind: "agent", ...claims },
  });
  const headers = { authorization: `Bearer ${String((await bodyOf(made))["token"])}` };
  const asked = await http.ask("/v1/calls", { headers, body: { tool: "mail", arguments: { to: "x" } } });
  return String((await bodyOf(asked))["approval_id"]);
}

describe("a person who asks through an agent may not decide", () => {
  it.each([
    ["no user", {}],
    ["another user", { user: "ann" }],
    ["a made-up user", { user: "Eve" }],
  ])("a caller with an agent's token and %s decides nothing either", async (_, claims) => {
    const id = await asks("eve", claims);
    const refused = await http.ask(`/v1/approvals/${id}/approve`, { headers: await session("eve"), body: {} });
    expect([refused.status, await bodyOf(refused)]).toMatchObject([403, { error: { code: "decider_not_allowed" } }]);
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it("another person decides", async () => {
    const id = await asks("eve", {});
    expect((await http.ask(`/v1/approvals/${id}/approve`, { headers: await session("ann"), body: {} })).status).toBe(
      200,
    );
  });

  it("the asking person's own list leaves it out", async () => {
    const id = await asks("eve", {});
    const listed = await bodyOf(await http.ask("/v1/approvals?mine=true", { headers: await session("eve") }));
    expect(listed).toMatchObject({ approvals: [] });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
  });
});

it("a user who is no admin cannot make an agent that calls for another user", async () => {
  await h.runtime.accounts.add({ name: "olga", roles: ["operator"], password: goodPassword }, holder);
  const make = async (user: string): Promise<Response> =>
    http.ask("/v1/tokens", { headers: await session("olga"), body: { name: "bot", kind: "agent", user } });
  expect(await bodyOf(await make("ann"))).toMatchObject({ error: { code: "token_refused" } });
  expect((await make("olga")).status).toBe(201);
});
