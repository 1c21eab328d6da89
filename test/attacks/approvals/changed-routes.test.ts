import { describe, expect, it } from "vitest";
import type { ApprovalRoute, Decider } from "../../../src/approvals/index.ts";
import { ann, approve, ask, bob, mail, operatorToken } from "../../fakes/deciders.ts";
import { cal, delegate, openRouted } from "../../fakes/route-fixture.ts";
import { sqliteFiles } from "../../fakes/sqlite-files.ts";

const files = sqliteFiles();
let number = 0;

function freshStore(): string {
  number += 1;
  return `sqlite:${files.at(`${number}.db`)}`;
}

describe("a request made before the configuration changed", () => {
  it.each<readonly [string, boolean, boolean]>([
    ["once the route demands it", false, true],
    ["even if the route no longer demands it", true, false],
  ])("is not decided by the asking user, %s", async (_, before, after) => {
    const file = freshStore();
    const first = await openRouted({ name: "r", separateUser: before }, { store: file });
    const id = await ask(first);
    await first.runtime.close();
    await using h = await openRouted({ name: "r", separateUser: after }, { store: file });
    const self: Decider = { ...cal, user: "asker", via: "session:asker" };
    expect(await approve(h, id, self)).toMatchObject({ code: "decider_not_allowed" });
  });

  it("is not decided by people whose escalation was removed or changed", async () => {
    const file = freshStore();
    const to = { users: ["ann"] };
    const escalating = (name: string): ApprovalRoute => ({
      ...{ name: "r", to, escalateAfterMs: 1000, escalateTo: { users: [name] } },
    });
    const first = await openRouted(escalating("cal"), { store: file });
    const [one, two, three] = [await ask(first, mail("1")), await ask(first, mail("2")), await ask(first, mail("3"))];
    await first.clock.advance(1000);
    await first.runtime.close();
    for (const route of [{ name: "r", to }, escalating("bob")]) {
      await using h = await openRouted(route, { store: file });
      expect(await approve(h, one, cal)).toMatchObject({ code: "decider_not_allowed" });
      expect(await approve(h, one, bob)).toMatchObject({ code: "decider_not_allowed" });
    }
    await using same = await openRouted(escalating("cal"), { store: file });
    expect(await approve(same, one, cal)).toMatchObject({ approval: { state: "approved" } });
    await same.runtime.close();
    await using named = await openRouted({ name: "r", to: { users: ["cal"] } }, { store: file });
    expect(await approve(named, two, cal)).toMatchObject({ approval: { state: "approved" } });
    expect(await approve(named, three, ann)).toMatchObject({ code: "decider_not_allowed" });
  });
});

describe("an operator's token cannot delegate a second decision once accounts exist", () => {
  const two: ApprovalRoute = { name: "two", quorum: 2, to: { roles: ["admin"] } };
  const everyRole: Decider = { ...operatorToken, roles: ["viewer", "approver", "operator", "auditor", "admin"] };

  it.each([
    ["the token", everyRole],
    ["the folder's link", { ...everyRole, via: "session:operator", signedIn: true }],
    ["a token that either made", { ...everyRole, via: "token:tok_0123456789abcdef" }],
  ])("is refused under a quorum: %s", async (_, operator) => {
    await using h = await openRouted(two);
    await delegate(h, operator, "cal");
    const id = await ask(h);
    expect(await approve(h, id, cal)).toMatchObject({ code: "decider_not_allowed" });
    expect((await h.runtime.approvals.page({}, cal)).approvals).toEqual([]);
    const edit = { decision: "modified", arguments: { to: "y" }, by: cal } as const;
    expect(await h.runtime.approvals.decide(id, edit)).toMatchObject({ code: "decider_not_allowed" });
    expect((await h.runtime.approvals.get(id))?.votes).toBeUndefined();
  });

  it("is refused under separate_user, and delegates a decision that needs one person", async () => {
    await using h = await openRouted({ to: { roles: ["admin"] }, separateUser: true });
    await delegate(h, everyRole, "cal");
    expect(await approve(h, await ask(h), cal)).toMatchObject({ code: "decider_not_allowed" });
    await using alone = await openRouted({ to: { roles: ["admin"] } });
    await delegate(alone, everyRole, "cal");
    expect(await approve(alone, await ask(alone), cal)).toMatchObject({
      approval: { state: "approved", decision: { by: "cal", onBehalfOf: "operator" } },
    });
  });
});
