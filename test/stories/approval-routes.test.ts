import { describe, expect, it } from "vitest";
import type { ApprovalRoute, Decider } from "../../packages/postern/src/approvals/index.ts";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { ann, approve, ask, bob, cal, deny, mail, operatorToken, routed, shownDigestOf } from "../fakes/deciders.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";
import { storeIn } from "../fakes/story-store.ts";

const files = sqliteFiles();

describe("a request that is sent to some people", () => {
  it("is decided only by them, and others learn whom it was sent to", async () => {
    await using h = await runtimeFixture(routed({ name: "ops only", to: { groups: ["ops"] } }));
    const id = await ask(h);
    expect(await approve(h, id, bob)).toMatchObject({
      decided: false,
      code: "decider_not_allowed",
      message: expect.stringContaining("`bob` is none of those whom the route `ops only` sends this to"),
    });
    expect(await deny(h, id, bob)).toMatchObject({ decided: false, code: "decider_not_allowed" });
    expect(await approve(h, id, ann)).toMatchObject({ decided: true, approval: { routed: { rule: "ops only" } } });
  });

  it("is listed as mine for each person who may decide it, not for the asking person or a voter", async () => {
    await using h = await runtimeFixture(routed({ to: { roles: ["approver"] }, quorum: 2, separateUser: true }));
    const id = await ask(h);
    const mine = async (by: Decider) => (await h.runtime.approvals.page({ state: "pending" }, by)).approvals.length;
    expect([await mine(ann), await mine(cal), await mine({ ...bob, user: "asker" })]).toEqual([1, 0, 0]);
    await approve(h, id, ann);
    expect([await mine(ann), await mine(bob)]).toEqual([0, 1]);
  });

  it("keeps its strictness when the configuration is loosened, and becomes stricter with it", async () => {
    const options = (...routes: readonly ApprovalRoute[]): RuntimeOptions => ({
      ...routed(...routes),
      ...storeIn(files.at("loosened.db")),
    });
    const strict = await runtimeFixture(options({ name: "two", to: { roles: ["approver"] }, quorum: 2 }));
    const [first, second] = [await ask(strict, mail("1")), await ask(strict, mail("2"))];
    await strict.runtime.close();
    const loose = await runtimeFixture(
      options({ match: { tools: ["nothing"] }, quorum: 2, to: { users: ["x", "y"] } }),
    );
    expect(await approve(loose, first, cal)).toMatchObject({ decided: false, code: "decider_not_allowed" });
    expect(await approve(loose, first, ann)).toMatchObject({ decided: true, approval: { state: "pending" } });
    expect(await approve(loose, first, bob)).toMatchObject({ decided: true, approval: { state: "approved" } });
    await loose.runtime.close();
    await using stricter = await runtimeFixture(
      options({ name: "three", to: { users: ["ann"] }, typedConfirmation: true }),
    );
    expect(await approve(stricter, second, bob)).toMatchObject({ code: "decider_not_allowed" });
    expect(await approve(stricter, second, ann)).toMatchObject({ code: "confirmation_needed" });
    const typed = await approve(stricter, second, ann, { confirmation: "mail" });
    expect(typed).toMatchObject({ decided: true, approval: { state: "pending" } });
  });

  it("lives as long as its route says, but no longer than the tool allows", async () => {
    await using h = await runtimeFixture(routed({ match: { tools: ["mail"] }, ttlMs: 60_000 }));
    const record = await h.runtime.approvals.get(await ask(h));
    expect(record?.expiresAt).toBe(h.clock.now() + 60_000);
  });
});

describe("a critical request", () => {
  const drop = { tool: "drop", arguments: { to: "x" } };

  it("is approved by typing the tool's name, and denied without", async () => {
    await using h = await runtimeFixture();
    const id = await ask(h, drop);
    expect(await approve(h, id, ann)).toMatchObject({
      code: "confirmation_needed",
      message: expect.stringContaining("type the tool's name, `drop`"),
    });
    expect(await approve(h, id, ann, { confirmation: "drip" })).toMatchObject({
      code: "confirmation_needed",
      message: expect.stringContaining("`drip` was typed"),
    });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
    expect(await approve(h, id, ann, { confirmation: "drop" })).toMatchObject({ decided: true });
    expect(await deny(h, await ask(h, { tool: "drop", arguments: { to: "y" } }), ann)).toMatchObject({ decided: true });
  });

  it("needs a signed-in person once accounts exist; without accounts the operator's token is one", async () => {
    let accounts = true;
    await using h = await runtimeFixture({ approvals: { patience: "suspend", accountsExist: () => accounts } });
    const id = await ask(h, drop);
    const typed = { confirmation: "drop" };
    expect(await approve(h, id, operatorToken, typed)).toMatchObject({ code: "sign_in_needed" });
    expect(await approve(h, id, { ...ann, signedIn: false }, typed)).toMatchObject({ code: "sign_in_needed" });
    expect(await approve(h, id, { user: "robot", via: "token:robot" }, typed)).toMatchObject({
      code: "sign_in_needed",
    });
    expect((await h.runtime.approvals.page({}, operatorToken)).approvals).toEqual([]);
    accounts = false;
    expect((await h.runtime.approvals.page({}, operatorToken)).approvals).toHaveLength(1);
    expect(await approve(h, id, operatorToken, typed)).toMatchObject({ decided: true });
  });

  it("is approved by the process's approver unless a route covers it", async () => {
    const approver = { name: "code", ask: async () => ({ decision: "approved" as const }) };
    await using free = await runtimeFixture({ approvals: { approver } });
    expect((await free.runtime.invoke(drop, asker)).status).toBe("ok");
    await using bound = await runtimeFixture({
      approvals: { approver, patience: "suspend", routes: [{ name: "all" }] },
    });
    const { approvalId = "" } = await bound.runtime.invoke(drop, asker);
    await bound.clock.advance(10);
    expect((await bound.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });
});

describe("a decision with a digest", () => {
  it("is refused if the request has changed since", async () => {
    await using h = await runtimeFixture();
    const id = await ask(h);
    expect(await approve(h, id, ann, { expectedDigest: "f".repeat(64) })).toMatchObject({ code: "approval_changed" });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
    expect(await approve(h, id, ann, await shownDigestOf(h, id))).toMatchObject({ decided: true });
  });
});
