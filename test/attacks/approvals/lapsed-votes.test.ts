import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { AccountChange, ApprovalRoute, Decider } from "../../../src/index.ts";
import { ann, ask, bob, clerk, mail, yes } from "../../fakes/deciders.ts";
import { type House, house } from "../../fakes/house.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { cal, lend, openRouted } from "../../fakes/route-house.ts";
import { sqliteFiles } from "../../fakes/sqlite-files.ts";

const files = sqliteFiles();
let number = 0;

function freshStore(): string {
  number += 1;
  return `sqlite:${files.at(`${number}.db`)}`;
}

const admin = (by: Decider): Decider => ({ ...by, roles: ["approver", "admin"] });

/** Who has a vote on it that counts, and why others' count no more. */
async function told(h: House, id: string): Promise<object> {
  const found = await h.runtime.approvals.get(id);
  if (found === undefined) throw new Error(`no approval ${id}`);
  const [standing] = await h.runtime.approvals.standings([found], bob);
  return { state: found.state, lapsed: standing?.lapsed.map(({ vote, why }) => `${vote.by}: ${why}`) };
}

describe("a vote counts only while who gave it could give it", () => {
  it.each<readonly [string, ApprovalRoute, AccountChange]>([
    ["role", { name: "some", quorum: 2, to: { roles: ["admin"] } }, { roles: ["approver"] }],
    ["group", { name: "some", quorum: 2, to: { groups: ["ops"], users: ["bob"] } }, { groups: [] }],
  ])(
    "and not once they left the %s that is asked, though they still decide; it counts again when that is undone",
    async (_, route, change) => {
      await using h = await openRouted(route);
      const [first, second] = [await ask(h, mail("1")), await ask(h, mail("2"))];
      await yes(h, first, admin(ann));
      await yes(h, second, admin(ann));
      await h.runtime.accounts.change("ann", change, holder);
      const why =
        "ann: `ann` is none of those whom the route `some` sends this to; one of them must decide, or delegate.";
      expect(await told(h, first)).toEqual({ state: "pending", lapsed: [why] });
      expect(await yes(h, first, admin(bob))).toMatchObject({ approval: { state: "pending", votes: [{ by: "bob" }] } });
      await h.runtime.accounts.change("ann", { roles: ["approver", "admin"], groups: ["ops"] }, holder);
      expect(await yes(h, second, admin(bob))).toMatchObject({ approval: { state: "approved" } });
    },
  );

  it("and in another's place not once the delegation was revoked, though its time being over takes nothing back", async () => {
    await using h = await openRouted({ quorum: 2, to: { users: ["ann", "bob"] } });
    const { delegations } = h.runtime.approvals;
    const one = await lend(h, ann, "cal");
    const id = await ask(h);
    expect(await yes(h, id, cal)).toMatchObject({
      approval: { state: "pending", votes: [{ by: "cal", onBehalfOf: "ann", delegation: one.id }] },
    });
    await delegations.revoke(one.id, ann);
    await lend(h, ann, "cal"); // another word than the one that was taken back
    const why = "cal: `ann` took back the word that `cal` gave in their place";
    expect(await told(h, id)).toEqual({ state: "pending", lapsed: [why] });
    expect(await yes(h, id, bob)).toMatchObject({ approval: { state: "pending", votes: [{ by: "bob" }] } });
    const brief = await ask(h, mail("brief"));
    await delegations.make({ to: "cal", until: h.clock.now() + 1000 }, { ...ann, via: "session:late" });
    await yes(h, brief, cal);
    await h.clock.advance(1000);
    expect(await told(h, brief)).toMatchObject({ lapsed: [] });
  });

  it("nor by a channel for a name that has no account, once there are accounts", async () => {
    const route = { name: "two", quorum: 2 };
    await using h = await house({
      accounts: { passwordCost: cheap },
      approvals: { patience: "suspend", routes: [route] },
    });
    const id = await ask(h);
    const word = { decision: "approved", by: { user: "bob", via: "channel:ops" } } as const;
    expect(await h.runtime.approvals.decide(id, word)).toMatchObject({ approval: { state: "pending" } });
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"], password: "correct horse battery" }, holder);
    const why = "bob: `bob` has no account, and a channel speaks for those who have one";
    expect(await told(h, id)).toEqual({ state: "pending", lapsed: [why] });
    expect(await yes(h, id, ann)).toMatchObject({ approval: { state: "pending", votes: [{ by: "ann" }] } });
  });

  it("nor once the API token was revoked by which the word was lent", async () => {
    await using h = await openRouted({ quorum: 2, to: { users: ["ann", "bob"] } });
    const { accounts } = h.runtime;
    const { token } = await accounts.makeToken(
      { name: "ci", kind: "person" },
      await accounts.get("ann", holder),
      holder,
    );
    await lend(h, { ...ann, via: `token:${token.id}`, signedIn: false }, "cal");
    const id = await ask(h);
    await yes(h, id, cal);
    await accounts.revokeToken(token.id, holder);
    expect(await yes(h, id, bob)).toMatchObject({ approval: { state: "pending", votes: [{ by: "bob" }] } });
  });

  it.each<readonly [string, AccountChange]>([
    ["was disabled", { disabled: true }],
    ["decides nothing any more", { roles: ["viewer"] }],
    ["left the group that is asked", { groups: [] }],
  ])("nor once who lent it %s", async (_, change) => {
    await using h = await openRouted({ quorum: 2, to: { groups: ["ops"], users: ["bob"] } });
    await lend(h, ann, "cal");
    const id = await ask(h);
    await yes(h, id, cal);
    await h.runtime.accounts.change("ann", change, holder);
    expect(await yes(h, id, bob)).toMatchObject({ approval: { state: "pending", votes: [{ by: "bob" }] } });
  });

  it("nor as the word of somebody who is asked by now, when it was given in another's place", async () => {
    const file = freshStore();
    const first = await openRouted({ quorum: 2, to: { users: ["ann", "bob", "cal"] } }, { store: file });
    const id = await ask(first);
    await yes(first, id, cal);
    await first.runtime.close();
    await using h = await openRouted({ name: "now", quorum: 2, to: { users: ["ann", "bob"] } }, { store: file });
    await lend(h, ann, "cal"); // their own vote is not one in her place
    expect(await yes(h, id, bob)).toMatchObject({ approval: { state: "pending", votes: [{ by: "bob" }] } });
  });

  it("and what was decided stays decided: no vote of it is told as lapsed", async () => {
    await using h = await openRouted({ quorum: 2 });
    const id = await ask(h);
    await yes(h, id, ann);
    await yes(h, id, bob);
    await h.runtime.accounts.change("ann", { disabled: true }, holder);
    expect(await told(h, id)).toEqual({ state: "approved", lapsed: [] });
  });
});

describe("a configuration that became stricter reaches what was said before", () => {
  const strict: ApprovalRoute = { name: "r", quorum: 2, signedIn: true, typedConfirmation: true };

  it.each<readonly [string, Decider, object, string | undefined]>([
    ["by a token", { ...ann, via: "token:tok_x", signedIn: false }, { confirmation: "mail" }, "a person who signed in"],
    ["without the name typed", ann, {}, "wants the tool's name typed now"],
    ["signed in and typed, as if it had been asked for", ann, { confirmation: "mail" }, undefined],
  ])("a vote %s", async (_, by, more, why) => {
    const file = freshStore();
    const first = await openRouted({ name: "r", quorum: 2 }, { store: file });
    const id = await ask(first);
    await yes(first, id, by, more);
    await first.runtime.close();
    await using h = await openRouted(strict, { store: file });
    expect(await told(h, id)).toMatchObject({ lapsed: why === undefined ? [] : [expect.stringContaining(why)] });
    const state = why === undefined ? "approved" : "pending";
    expect(await yes(h, id, bob, { confirmation: "mail" })).toMatchObject({ approval: { state } });
  });

  it("a vote of the approver in code, which never signed in", async () => {
    const file = freshStore();
    const approver = { name: "code", ask: async () => ({ decision: "approved" as const }) };
    const routes = [{ name: "r", quorum: 2 }];
    const first = await openRouted({}, { store: file, approvals: { approver, patience: "suspend", routes } });
    const id = await ask(first);
    await expect.poll(async () => (await first.runtime.approvals.get(id))?.votes).toMatchObject([{ by: "code" }]);
    expect(await told(first, id)).toMatchObject({ lapsed: [] });
    await first.runtime.close();
    await using h = await openRouted({ name: "r", quorum: 2, signedIn: true }, { store: file });
    expect(await told(h, id)).toMatchObject({ lapsed: [expect.stringContaining("a person who signed in")] });
  });

  it.each<readonly [string, boolean, boolean]>([
    ["as soon as the route says so", false, true],
    ["still when the route says so no more", true, false],
  ])("the asking user decides nothing %s", async (_, before, after) => {
    const file = freshStore();
    const first = await openRouted({ name: "r", separateUser: before }, { store: file });
    const id = await ask(first);
    await first.runtime.close();
    await using h = await openRouted({ name: "r", separateUser: after }, { store: file });
    const self: Decider = { ...cal, user: "asker", via: "session:asker" };
    expect(await yes(h, id, self)).toMatchObject({ code: "decider_not_allowed" });
  });

  it("an escalation that is not configured any more, or to others", async () => {
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
      expect(await yes(h, one, cal)).toMatchObject({ code: "decider_not_allowed" });
      expect(await yes(h, one, bob)).toMatchObject({ code: "decider_not_allowed" });
    }
    await using same = await openRouted(escalating("cal"), { store: file });
    expect(await yes(same, one, cal)).toMatchObject({ approval: { state: "approved" } });
    await same.runtime.close();
    await using named = await openRouted({ name: "r", to: { users: ["cal"] } }, { store: file });
    expect(await yes(named, two, cal)).toMatchObject({ approval: { state: "approved" } });
    expect(await yes(named, three, ann)).toMatchObject({ code: "decider_not_allowed" });
  });
});

describe("the operator's token, where people have accounts, lends nobody a second person's word", () => {
  const two: ApprovalRoute = { name: "two", quorum: 2, to: { roles: ["admin"] } };
  const everyRole: Decider = { ...clerk, roles: ["viewer", "approver", "operator", "auditor", "admin"] };

  it.each([
    ["the token", everyRole],
    ["the folder's link", { ...everyRole, via: "session:operator", signedIn: true }],
    ["a token that either made", { ...everyRole, via: "token:tok_0123456789abcdef" }],
  ])("under a quorum: %s", async (_, operator) => {
    await using h = await openRouted(two);
    await lend(h, operator, "cal");
    const id = await ask(h);
    expect(await yes(h, id, cal)).toMatchObject({ code: "decider_not_allowed" });
    expect((await h.runtime.approvals.page({}, cal)).approvals).toEqual([]);
    const edit = { decision: "modified", arguments: { to: "y" }, by: cal } as const;
    expect(await h.runtime.approvals.decide(id, edit)).toMatchObject({ code: "decider_not_allowed" });
    expect((await h.runtime.approvals.get(id))?.votes).toBeUndefined();
  });

  it("nor that of another than who asked; but one that decides alone, it may lend", async () => {
    await using h = await openRouted({ to: { roles: ["admin"] }, separateUser: true });
    await lend(h, everyRole, "cal");
    expect(await yes(h, await ask(h), cal)).toMatchObject({ code: "decider_not_allowed" });
    await using alone = await openRouted({ to: { roles: ["admin"] } });
    await lend(alone, everyRole, "cal");
    expect(await yes(alone, await ask(alone), cal)).toMatchObject({
      approval: { state: "approved", decision: { by: "cal", onBehalfOf: "operator" } },
    });
  });

  it("nor by a vote that was given in its place before there were accounts", async () => {
    await using h = await house({
      approvals: { patience: "suspend", routes: [two] },
      accounts: { passwordCost: cheap },
    });
    await lend(h, everyRole, "cal");
    const id = await ask(h);
    expect(await yes(h, id, cal)).toMatchObject({ approval: { votes: [{ by: "cal", onBehalfOf: "operator" }] } });
    await h.runtime.accounts.add({ name: "cal", roles: ["approver"] }, holder);
    await h.runtime.accounts.add({ name: "bob", roles: ["approver", "admin"] }, holder);
    expect(await yes(h, id, admin(bob))).toMatchObject({ approval: { state: "pending", votes: [{ by: "bob" }] } });
  });
});

function makeOlder(file: string): void {
  using database = new DatabaseSync(file.slice("sqlite:".length));
  database.exec("update approval set body = json_remove(body, '$.votes[0].given', '$.votes[0].delegation')");
}

describe("what an older version kept of a vote", () => {
  const demanding: ApprovalRoute = { name: "r", quorum: 2, signedIn: true, typedConfirmation: true };
  const plain: ApprovalRoute = { name: "r", quorum: 2 };

  it.each<readonly [string, ApprovalRoute, ApprovalRoute, "approved" | "pending"]>([
    ["counts where nothing more is demanded", plain, plain, "approved"],
    ["had brought what its request demanded", demanding, demanding, "approved"],
    ["had brought no more than that", plain, demanding, "pending"],
  ])("%s", async (_, then, now, state) => {
    const file = freshStore();
    const first = await openRouted(then, { store: file });
    const id = await ask(first);
    await yes(first, id, ann, { confirmation: "mail" });
    await first.runtime.close();
    makeOlder(file);
    await using h = await openRouted(now, { store: file });
    expect((await h.runtime.approvals.get(id))?.votes).toEqual([
      { as: "approved", by: "ann", via: ann.via, at: expect.any(Number) },
    ]);
    expect(await yes(h, id, bob, { confirmation: "mail" })).toMatchObject({ approval: { state } });
  });

  it.each([true, false])("and in another's place while the word is still lent: %s", async (isLent) => {
    const file = freshStore();
    const to: ApprovalRoute = { quorum: 2, to: { users: ["ann", "bob"] } };
    const first = await openRouted(to, { store: file });
    const { id: lent } = await lend(first, ann, "cal");
    const id = await ask(first);
    await yes(first, id, cal);
    await first.runtime.close();
    makeOlder(file);
    await using h = await openRouted(to, { store: file });
    if (!isLent) await h.runtime.approvals.delegations.revoke(lent, ann);
    const state = isLent ? "approved" : "pending";
    expect(await yes(h, id, bob)).toMatchObject({ approval: { state } });
  });
});
