import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ann, approve, ask, bob, deny, mail, routed, shownDigestOf } from "../fakes/deciders.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { holder } from "../fakes/people.ts";
import { cal, openRouted } from "../fakes/route-fixture.ts";
import { asker, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { storeIn } from "../fakes/story-store.ts";

const folder = ownFolder();

describe("a quorum", () => {
  const two = routed({ name: "two", quorum: 2 });

  it("is reached by two persons, each with an event of their own, and then the call runs once", async () => {
    await using h = await runtimeFixture(two);
    const id = await ask(h);
    expect(await approve(h, id, ann)).toMatchObject({
      decided: true,
      approval: { state: "pending", votes: [{ by: "ann" }] },
    });
    expect((await h.runtime.invoke(mail(), asker)).status).toBe("pending");
    expect(h.ran).toEqual([]);
    expect(await approve(h, id, ann)).toMatchObject({ decided: false, code: "approval_voted" });
    expect(await approve(h, id, bob)).toMatchObject({ approval: { state: "approved", decision: { by: "bob" } } });
    expect((await h.runtime.invoke(mail(), asker)).status).toBe("ok");
    expect(h.ran).toHaveLength(1);
    expect(await eventTypes(h.runtime)).toEqual([
      "gate.required",
      "approval.voted",
      "tool_call.deduped",
      "gate.approved",
      "tool_call.attempted",
      "tool_call.succeeded",
    ]);
    const [vote] = await h.runtime.audit.query({ type: "approval.voted" });
    expect(vote).toMatchObject({ decided_by: "ann", data: { approval_id: id, quorum_left: 1, as: "approved" } });
  });

  it("does not wake a waiting caller before the last vote", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "wait", routes: [{ quorum: 2 }] } });
    const waiting = h.runtime.invoke(mail(), asker);
    await h.clock.advance(10);
    const [open] = await h.runtime.approvals.list();
    await approve(h, open?.id ?? "", ann);
    await h.clock.advance(10);
    expect(h.ran).toEqual([]);
    await approve(h, open?.id ?? "", bob);
    expect((await waiting).status).toBe("ok");
  });

  it("starts again with an edit: the editor's is the first vote, and the next must name the new digest", async () => {
    await using h = await runtimeFixture(two);
    const id = await ask(h);
    await approve(h, id, ann);
    const edited = await h.runtime.approvals.decide(id, { decision: "modified", arguments: { to: "y" }, by: bob });
    expect(edited).toMatchObject({
      approval: {
        state: "pending",
        asked: { to: "x" },
        arguments: { to: "y" },
        votes: [{ by: "bob" }],
        edited: { by: "bob" },
      },
    });
    expect(await approve(h, id, ann)).toMatchObject({
      code: "approval_changed",
      message: expect.stringContaining("`bob`"),
    });
    expect(await approve(h, id, ann, { expectedDigest: "0".repeat(64) })).toMatchObject({ code: "approval_changed" });
    expect(await approve(h, id, ann, await shownDigestOf(h, id))).toMatchObject({ approval: { state: "approved" } });
    expect(await h.runtime.resume(id)).toMatchObject({ status: "ok" });
    expect(h.ran).toEqual([{ to: "y" }]);
  });

  it("takes no vote for arguments that were edited meanwhile", async () => {
    await using h = await runtimeFixture(two);
    const codes = new Set<string>();
    for (let turns = 0; turns < 60; turns += 1) {
      const id = await ask(h, mail(`round ${turns}`));
      const to = `edited ${turns}`;
      const editing = h.runtime.approvals.decide(id, { decision: "modified", arguments: { to }, by: bob });
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve(); // the yes comes at each moment of the edit
      const decided = await approve(h, id, ann);
      await editing;
      codes.add(decided.decided ? "counted" : decided.code);
      const record = await h.runtime.approvals.get(id);
      expect(record).toMatchObject({ state: "pending", arguments: { to }, votes: [{ by: "bob" }] });
    }
    expect([...codes].sort()).toEqual(["approval_changed", "counted"]);
  });

  it("is not reached by the asking person, nor by an agent's vote on its own call", async () => {
    await using h = await runtimeFixture(routed({ quorum: 2, separateUser: true }));
    const id = await ask(h);
    expect(await approve(h, id, { user: "asker", via: "session:9" })).toMatchObject({ code: "decider_not_allowed" });
    expect(await approve(h, id, { user: "zoe", via: "token:agent" })).toMatchObject({ code: "decider_not_allowed" });
  });

  it.each([
    ["memory", {}],
    ["sqlite", storeIn(join(folder, "votes.db"))],
  ])("does not count the vote of a person who was disabled before the last vote (%s)", async (_, store) => {
    await using h = await openRouted({ name: "two", quorum: 2 }, store);
    const { accounts, audit } = h.runtime;
    const id = await ask(h);
    await approve(h, id, ann);
    await accounts.change("ann", { disabled: true }, holder);
    expect((await h.runtime.approvals.get(id))?.votes).toEqual([]);
    expect(await approve(h, id, bob)).toMatchObject({ approval: { state: "pending", votes: [{ by: "bob" }] } });
    expect((await h.runtime.invoke(mail(), asker)).status).toBe("pending");
    expect(h.ran).toEqual([]);
    expect(await approve(h, id, cal)).toMatchObject({ approval: { state: "approved" } });
    const votes = await audit.query({ type: "approval.voted" });
    expect(votes).toMatchObject([{ decided_by: "ann" }, { decided_by: "bob", data: { quorum_left: 1 } }]);
  });

  it("does not count a vote by a token that was revoked, and its person may vote again", async () => {
    await using h = await openRouted({ name: "two", quorum: 2 });
    const { accounts } = h.runtime;
    const own = await accounts.get("bob", holder);
    const { token } = await accounts.makeToken({ name: "ci", kind: "person" }, own, holder);
    const id = await ask(h);
    await approve(h, id, { ...bob, via: `token:${token.id}`, signedIn: false });
    await accounts.revokeToken(token.id, holder);
    expect(await approve(h, id, ann)).toMatchObject({ approval: { state: "pending", votes: [{ by: "ann" }] } });
    expect(await approve(h, id, bob)).toMatchObject({ approval: { state: "approved" } });
  });

  it("counts the vote of a person who was disabled after the last vote", async () => {
    await using h = await openRouted({ name: "two", quorum: 2 });
    const id = await ask(h);
    await approve(h, id, ann);
    await approve(h, id, bob);
    await h.runtime.accounts.change("ann", { disabled: true }, holder);
    expect(await h.runtime.resume(id)).toMatchObject({ status: "ok" });
  });

  it("is denied by one denial", async () => {
    await using h = await runtimeFixture(two);
    const id = await ask(h);
    await approve(h, id, ann);
    expect(await deny(h, id, bob)).toMatchObject({ approval: { state: "denied" } });
  });
});
