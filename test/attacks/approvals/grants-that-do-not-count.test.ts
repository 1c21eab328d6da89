import { describe, expect, it } from "vitest";
import type { ApprovalRoute, Decider, Grant } from "../../../packages/postern/src/approvals/index.ts";
import type { AccountChange } from "../../../packages/postern/src/identity/index.ts";
import type { RuntimeOptions } from "../../../packages/postern/src/index.ts";
import { ann, approve, ask, bob, mail, operatorToken } from "../../fakes/deciders.ts";
import { bodyOf, httpFixture } from "../../fakes/http-fixture.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { sqliteFiles } from "../../fakes/sqlite-files.ts";

const files = sqliteFiles();
const hourMs = 3_600_000;
let number = 0;

function freshStore(): string {
  number += 1;
  return `sqlite:${files.at(`${number}.db`)}`;
}

async function open(routes: readonly ApprovalRoute[] = [], more: RuntimeOptions = {}): Promise<RuntimeFixture> {
  const h = await runtimeFixture({
    approvals: { patience: "suspend", routes },
    accounts: { passwordCost: cheap },
    ...more,
  });
  if (!h.runtime.accounts.exist)
    for (const name of ["ann", "bob", "cal"])
      await h.runtime.accounts.add({ name, roles: ["approver"], groups: name === "ann" ? ["ops"] : [] }, holder);
  return h;
}

/** Approves a first mail and remembers it as a grant. */
async function grant(h: RuntimeFixture, by: Decider = ann, more: object = {}): Promise<Grant> {
  const remember = { for: { until: h.clock.now() + hourMs }, reason: "to the team" };
  number += 1;
  const decided = await approve(h, await ask(h, mail(`first ${number}`)), by, { remember, ...more });
  if (!decided.decided || decided.grant === undefined) throw new Error(JSON.stringify(decided));
  return decided.grant;
}

async function next(h: RuntimeFixture, principal: object = asker.principal): Promise<string> {
  number += 1;
  return (await h.runtime.invoke(mail(String(number)), { ...asker, principal: { ...asker.principal, ...principal } }))
    .status;
}

async function reasons(h: RuntimeFixture): Promise<readonly string[]> {
  const explained = await h.runtime.explain(mail("explained"), asker);
  return explained.reached === "verdict" ? explained.decision.reasons.map(({ rule }) => rule) : [];
}

describe("a grant answers only while its approver could still decide", () => {
  it.each<readonly [string, AccountChange, string]>([
    ["was disabled", { disabled: true }, "`ann` is disabled"],
    ["has no role that decides", { roles: ["viewer", "operator", "admin"] }, "`ann` has no role that decides"],
    ["left the group of the route", { groups: [] }, "none of those whom the route `ops` sends this to"],
  ])("is silent once its approver %s, and answers again when that is undone", async (_, change, why) => {
    await using h = await open([{ name: "ops", to: { groups: ["ops"] } }]);
    const given = await grant(h);
    expect(await next(h)).toBe("ok");
    await h.runtime.accounts.change("ann", change, holder);
    expect(await next(h)).toBe("pending");
    const output = `grant ${given.id} of ann: to the team (does not count: `;
    expect((await reasons(h)).find((rule) => rule.startsWith(output))).toContain(why);
    expect(await h.runtime.approvals.grants.problem(given)).toContain(why);
    expect(h.runtime.approvals.grants.list({ state: "live" })).toHaveLength(1);
    await h.runtime.accounts.change("ann", { disabled: false, roles: ["approver"], groups: ["ops"] }, holder);
    expect(await next(h)).toBe("ok");
    expect(await reasons(h)).toContain(`grant ${given.id} of ann: to the team`);
  });

  it.each<readonly [string, ApprovalRoute, string]>([
    ["is sent to others", { name: "now", to: { users: ["bob"] } }, "none of those whom the route `now`"],
    ["needs two persons", { name: "now", quorum: 2 }, "the route `now` lets no yes be remembered now"],
    ["does not allow remembering", { name: "now", remember: false }, "lets no yes be remembered"],
    ["requires the typed name", { name: "now", typedConfirmation: true }, "wants the tool's name typed"],
  ])("is silent once the route %s", async (_, route, why) => {
    const file = freshStore();
    const first = await open([], { store: file });
    await grant(first);
    expect(await next(first)).toBe("ok");
    await first.runtime.close();
    await using h = await open([route], { store: file });
    expect(await next(h)).toBe("pending");
    expect((await reasons(h)).join()).toContain(why);
    expect(h.ran).toEqual([]);
  });

  it("made with a token is silent once a route requires a signed-in person", async () => {
    const file = freshStore();
    const first = await open([], { store: file });
    await grant(first, { ...ann, via: "token:tok_1", signedIn: false });
    await first.runtime.close();
    const now: ApprovalRoute = { name: "now", signedIn: true };
    const second = await open([now], { store: file });
    expect(await next(second)).toBe("pending");
    expect((await reasons(second)).join()).toContain("a person who signed in");
    await grant(second); // by a session
    expect(await next(second)).toBe("ok");
    await second.runtime.close();
  });

  it("is silent for what its approver asks for, if they may not decide that", async () => {
    await using h = await open([{ name: "others", separateUser: true }]);
    await grant(h);
    expect(await next(h, { owner: "ann" })).toBe("pending");
    expect(await next(h, { owner: "bob" })).toBe("ok");
  });

  it("is silent for a call with the credential that made it", async () => {
    await using h = await open();
    await grant(h, { ...ann, via: "token:tok_1", signedIn: false });
    expect(await next(h, { via: "token:tok_1" })).toBe("pending");
    expect(await next(h)).toBe("ok");
  });

  it("made with the operator's token does not count as signed in once accounts exist", async () => {
    const signedIn: ApprovalRoute = { name: "people", signedIn: true };
    await using h = await runtimeFixture({ approvals: { patience: "suspend", routes: [signedIn] } });
    await grant(h, operatorToken);
    expect(await next(h)).toBe("ok");
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"] }, holder);
    expect(await next(h)).toBe("pending");
    expect((await reasons(h)).join()).toContain("signed in");
  });

  it("is silent once the API token that made it is revoked", async () => {
    await using h = await open();
    const { accounts } = h.runtime;
    const own = { name: "ci", kind: "person" } as const;
    const { token } = await accounts.makeToken(own, await accounts.get("ann", holder), holder);
    const kept = await accounts.makeToken({ ...own, name: "other" }, await accounts.get("ann", holder), holder);
    const given = await grant(h, { ...ann, via: `token:${token.id}`, signedIn: false });
    expect(await next(h)).toBe("ok");
    await accounts.revokeToken(kept.token.id, holder);
    expect(await next(h)).toBe("ok");
    await accounts.revokeToken(token.id, holder);
    expect(await next(h)).toBe("pending");
    const why = `\`token:${token.id}\`, by which it was given, was revoked`;
    expect(await h.runtime.approvals.grants.problem(given)).toBe(why);
    expect((await reasons(h)).join()).toContain(why);
    expect(h.ran).toHaveLength(2);
  });

  it("still answers after that API token expired", async () => {
    await using h = await open();
    const { accounts } = h.runtime;
    const brief = { name: "ci", kind: "person", ttlMs: 1_000 } as const;
    const { token } = await accounts.makeToken(brief, await accounts.get("ann", holder), holder);
    await grant(h, { ...ann, via: `token:${token.id}`, signedIn: false });
    await h.clock.advance(2_000);
    expect(await next(h)).toBe("ok");
  });

  it("is listed as silent", async () => {
    await using h = await open();
    await grant(h);
    await using http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
    const listed = async () => bodyOf(await http.ask("/v1/grants?state=live", { as: "operator" }));
    expect((await listed())["grants"]).toEqual([expect.not.objectContaining({ silent: expect.anything() })]);
    await h.runtime.accounts.change("ann", { disabled: true }, holder);
    expect(await listed()).toMatchObject({ grants: [{ status: "live", silent: "`ann` is disabled" }] });
  });

  it("gives way to another grant whose approver could still decide", async () => {
    await using h = await open();
    await grant(h);
    await h.runtime.accounts.change("ann", { disabled: true }, holder);
    await grant(h, bob);
    expect(await next(h)).toBe("ok");
    expect((await reasons(h)).join()).not.toContain("does not count");
  });

  it("by a person without an account still answers", async () => {
    await using h = await runtimeFixture();
    await grant(h, { user: "somebody" });
    expect(await next(h)).toBe("ok");
    await h.runtime.accounts.add({ name: "ann", roles: ["viewer"] }, holder);
    expect(await next(h)).toBe("ok");
  });
});
