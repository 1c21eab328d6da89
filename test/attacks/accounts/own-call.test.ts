import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture, inSession } from "../../fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

type Headers = Readonly<Record<string, string>>;

let h: RuntimeFixture;
let http: HttpFixture;
beforeEach(async () => {
  h = await runtimeFixture({ approvals: { patience: "suspend" }, accounts: { passwordCost: cheap } });
  http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
  for (const name of ["alice", "bob"])
    await h.runtime.accounts.add({ name, roles: ["approver", "operator"], password: goodPassword }, holder);
});
afterEach(async () => {
  await http[Symbol.asyncDispose]();
  await h.runtime.close();
});

async function session(name: string): Promise<Headers> {
  return inSession(entered(await h.runtime.accounts.signIn(name, goodPassword, here)));
}

async function token(name: string, kind: "person" | "agent"): Promise<Headers> {
  const made = await http.ask("/v1/tokens", { headers: await session(name), body: { name: `${kind} of`, kind } });
  return { authorization: `Bearer ${String((await bodyOf(made))["token"])}` };
}

async function asks(headers: Headers): Promise<string> {
  const asked = await http.ask("/v1/calls", { headers, body: { tool: "mail", arguments: { to: "x" } } });
  return String((await bodyOf(asked))["approval_id"]);
}

async function says(verb: string, id: string, headers: Headers, body: object = {}): Promise<unknown> {
  const answered = await bodyOf(await http.ask(`/v1/approvals/${id}/${verb}`, { headers, body }));
  return (answered["error"] as { code?: unknown } | undefined)?.code ?? answered["status"];
}

const credentials: readonly (readonly [string, () => Promise<Headers>])[] = [
  ["a session", () => session("alice")],
  ["a token that stands for her", () => token("alice", "person")],
];

describe("another person decides what a person asked for, whatever is configured", () => {
  describe.each(credentials)("alice asks by %s", (_, asking) => {
    it.each([...credentials, ["another token of hers", () => token("alice", "person")] as const])(
      "alice cannot approve, edit or deny it by %s",
      async (_again, deciding) => {
        const id = await asks(await asking());
        const headers = await deciding();
        for (const verb of ["approve", "deny", "skip"])
          expect(await says(verb, id, headers)).toBe("decider_not_allowed");
        expect(await says("modify", id, headers, { arguments: { to: "y" } })).toBe("decider_not_allowed");
        expect(await bodyOf(await http.ask("/v1/approvals?mine=true", { headers }))).toMatchObject({ approvals: [] });
        expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
      },
    );

    it("the operator's token does not count as another person, but may deny", async () => {
      const headers = { authorization: `Bearer ${http.tokens.operator}` };
      const id = await asks(await asking());
      expect(await says("approve", id, headers)).toBe("sign_in_needed");
      expect(await bodyOf(await http.ask("/v1/approvals?mine=true", { headers }))).toMatchObject({ approvals: [] });
      expect(await says("deny", id, headers)).toBe("denied");
    });

    it("bob decides", async () => {
      const id = await asks(await asking());
      expect(await says("approve", id, await session("bob"))).toBe("approved");
    });
  });

  it("a person decides what their agent asks for, unless `separate_user` is set", async () => {
    const id = await asks(await token("alice", "agent"));
    expect(await says("approve", id, await session("alice"))).toBe("approved");
  });
});
