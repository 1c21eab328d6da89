import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture, inSession } from "../../fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

let h: RuntimeFixture;
let http: HttpFixture;
beforeEach(async () => {
  h = await runtimeFixture({ accounts: { passwordCost: cheap } });
  http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
  const { accounts } = h.runtime;
  await accounts.add({ name: "ada", roles: ["operator", "approver", "admin"], password: goodPassword }, holder);
  await accounts.add({ name: "eve", roles: ["operator", "approver"], password: goodPassword }, holder);
});
afterEach(async () => {
  await http[Symbol.asyncDispose]();
  await h.runtime.close();
});

type Headers = Readonly<Record<string, string>>;

async function agent(maker: string, claims: object): Promise<{ readonly status: number; readonly headers: Headers }> {
  const headers = inSession(entered(await h.runtime.accounts.signIn(maker, goodPassword, here)));
  const made = await http.ask("/v1/tokens", { headers, body: { name: "bot", kind: "agent", ...claims } });
  return { status: made.status, headers: { authorization: `Bearer ${String((await bodyOf(made))["token"])}` } };
}

async function call(headers: Headers, to: string, tool = "mail"): Promise<Readonly<Record<string, unknown>>> {
  return bodyOf(await http.ask("/v1/calls", { headers, body: { tool, arguments: { to }, run_id: "shared" } }));
}

describe("a user whose token names another user's agent", () => {
  it.each(["mailer", "ada/mailer", " mailer", "MAILER"])(
    "gets none of that agent's grants, approvals, calls or runs, named as %j",
    async (name) => {
      const mine = await agent("ada", { agent: "mailer" });
      const held = await call(mine.headers, "x");
      const by = { user: "eve", via: "session:eve", tenant: "default", signedIn: true };
      const remember = { for: { until: h.clock.now() + 60_000 }, reason: "the same again" };
      await h.runtime.approvals.decide(String(held["approval_id"]), { decision: "approved", by, remember });
      expect((await call(mine.headers, "y"))["status"]).toBe("ok");
      const theirs = await agent("eve", { agent: name });
      expect(theirs.status).toBe(201);
      const asked = await http.ask("/v1/calls", {
        headers: theirs.headers,
        body: { tool: "mail", arguments: { to: "z" } },
      });
      expect(await bodyOf(asked)).toMatchObject({ status: "pending" });
      const seen = async (path: string) => (await http.ask(path, { headers: theirs.headers })).status;
      expect(await seen(`/v1/approvals/${String(held["approval_id"])}`)).toBe(404);
      expect(await seen(`/v1/calls/${String(held["call_id"])}`)).toBe(404);
      expect(h.ran).toEqual([{ to: "y" }]);
    },
  );

  it.each(["local-agent", "operator-cli", "console", "api"])("cannot name the agent %s, admin or not", async (name) => {
    expect((await agent("ada", { agent: name })).status).toBe(422);
    const theirs = await agent("eve", { agent: name });
    const { call_id: id } = await call(theirs.headers, "x", "echo");
    expect((await h.runtime.calls.get(String(id)))?.call.authority.principal.agent).toBe(`eve/${name}`);
  });
});
