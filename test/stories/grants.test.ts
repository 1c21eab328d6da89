import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import type { Remember } from "../../packages/postern/src/approvals/index.ts";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { ann, mail } from "../fakes/deciders.ts";
import { ask, forRun, remember, statusOf } from "../fakes/granting.ts";
import { asker, eventTypes, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";
import { storeIn } from "../fakes/story-store.ts";

const files = sqliteFiles();

describe("a remembered approval", () => {
  it("answers the next similar calls, is named in the log and in explain, and counts its uses", async () => {
    await using h = await runtimeFixture();
    const decided = await remember(h, await ask(h));
    const grant = decided.decided ? decided.grant : undefined;
    expect(grant).toMatchObject({ tool: "mail", for: "run", by: "ann", reason: "they are all to the team", uses: 0 });
    expect([await statusOf(h, "y"), await statusOf(h, "z")]).toEqual(["ok", "ok"]);
    expect(h.ran).toEqual([{ to: "y" }, { to: "z" }]);
    const rule = `grant ${grant?.id} of ann: they are all to the team`;
    const attempts = await h.runtime.audit.query({ type: "tool_call.attempted" });
    for (const event of attempts)
      expect(event).toMatchObject({
        verdict: "CONFIRM",
        reasons: expect.arrayContaining([expect.objectContaining({ rule })]),
      });
    expect(await h.runtime.explain(mail("q"), asker)).toMatchObject({
      reached: "verdict",
      decision: { verdict: "CONFIRM", grant: grant?.id, reasons: expect.arrayContaining([{ rule, effect: "ALLOW" }]) },
    });
    expect(h.runtime.approvals.grants.list()).toMatchObject([{ id: grant?.id, uses: 2, lastUsedAt: h.clock.now() }]);
    expect(await eventTypes(h.runtime)).toContain("grant.made");
  });

  it("answers only arguments that fit its pattern", async () => {
    await using h = await runtimeFixture();
    const pattern: Remember = { ...forRun, scope: { arguments: { "$.to": { like: "*@example.com" } } } };
    await remember(h, await ask(h, "ann@example.com"), pattern);
    expect(await statusOf(h, "bob@example.com")).toBe("ok");
    expect(await statusOf(h, "bob@elsewhere.org")).toBe("pending");
  });

  it("answers only the same object and list it was given for, after a restart too", async () => {
    const set = { state: "closed", tags: [1, { a: null }] };
    const rows = { table: "users", set, ids: [3, 1] };
    const update = {
      name: "update",
      description: "Updates rows.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object" },
      execute: async () => "updated",
    } as const;
    const clock = new FakeClock();
    const open = () => runtimeFixture({ clock, ...storeIn(files.at("whole.db")) }, [update as never]);
    const effect = async (h: RuntimeFixture, more: object): Promise<string> =>
      (await h.runtime.invoke({ tool: "update", arguments: { ...rows, ...more } }, { ...asker, runId: "r" })).status;
    const before = await open();
    const call = { tool: "update", arguments: rows };
    const { approvalId = "" } = await before.runtime.invoke(call, { ...asker, runId: "r" });
    const scope = { arguments: { "$.set": { equals: set }, "$.ids": { oneOf: [[3, 1], []] } } };
    expect(await remember(before, approvalId, { ...forRun, scope })).toMatchObject({ decided: true });
    await before.runtime.close();
    await using h = await open();
    expect(await effect(h, { table: "others" })).toBe("ok");
    expect(await effect(h, { set: { tags: [1, { a: null }], state: "closed" }, ids: [] })).toBe("ok");
    for (const other of [
      { set: { ...set, more: 1 } },
      { set: { state: "closed" } },
      { set: { ...set, tags: [1, { a: 0 }] } },
      { set: [set] },
      { ids: [1, 3] },
      { ids: [3, 1, 1] },
    ])
      expect([other, await effect(h, other)]).toEqual([other, "pending"]);
  });

  it("holds in its run, for its asking principal, and for no other", async () => {
    await using h = await runtimeFixture();
    await remember(h, await ask(h));
    expect(await statusOf(h, "y", { runId: "another" })).toBe("pending");
    expect(await statusOf(h, "y", { principal: { ...asker.principal, agent: "b" } })).toBe("pending");
    expect((await h.runtime.invoke({ tool: "drop", arguments: { to: "y" } }, asker)).status).toBe("pending");
    expect(await statusOf(h, "z")).toBe("ok");
  });

  it("holds only for the user it was asked for, not for other users of the agent", async () => {
    await using h = await runtimeFixture();
    const always: Remember = { for: { until: h.clock.now() + 60_000 }, reason: "a minute" };
    await remember(h, await ask(h), always);
    const { user: _, ...nobody } = asker.principal;
    expect(await statusOf(h, "y", { principal: { ...asker.principal, user: "else" }, runId: "r2" })).toBe("pending");
    expect(await statusOf(h, "y", { principal: nobody, runId: "r3" })).toBe("pending");
    expect(await statusOf(h, "y", { runId: "r4" })).toBe("ok");
    const other = await ask(h, "z", { principal: nobody, runId: "r5" });
    await remember(h, other, always);
    expect(await statusOf(h, "q", { principal: { ...asker.principal, user: "else" }, runId: "r6" })).toBe("pending");
  });

  it("holds in its session while that lives", async () => {
    await using h = await runtimeFixture();
    await using session = h.runtime.openSession({}, asker);
    const { approvalId = "" } = await session.invoke(mail("x"));
    await remember(h, approvalId, { for: "session", reason: "this sitting" });
    expect((await session.invoke(mail("y"))).status).toBe("ok");
    await using other = h.runtime.openSession({}, asker);
    expect((await other.invoke(mail("y2"))).status).toBe("pending");
  });

  it("holds until its end, in every run", async () => {
    await using h = await runtimeFixture();
    await remember(h, await ask(h), { for: { until: h.clock.now() + 60_000 }, reason: "a minute" });
    expect(await statusOf(h, "y", { runId: "another" })).toBe("ok");
    await h.clock.advance(60_000);
    expect(await statusOf(h, "z", { runId: "another" })).toBe("pending");
    expect(h.runtime.approvals.grants.list({ state: "over" })).toHaveLength(1);
  });

  it("ends at once when it is revoked, with the name and the reason", async () => {
    await using h = await runtimeFixture();
    await remember(h, await ask(h));
    const [grant] = h.runtime.approvals.grants.list({ state: "live" });
    expect(await h.runtime.approvals.grants.revoke(grant?.id ?? "", { user: "bob" }, "enough")).toMatchObject({
      revoked: { by: "bob", reason: "enough" },
    });
    expect(await statusOf(h, "y")).toBe("pending");
    expect(await h.runtime.approvals.grants.revoke(grant?.id ?? "", ann)).toMatchObject({ revoked: { by: "bob" } });
    expect(await h.runtime.approvals.grants.revoke("grt_none", ann)).toBeUndefined();
    const [event] = await h.runtime.audit.query({ type: "grant.revoked" });
    expect(event).toMatchObject({ decided_by: "bob", data: { grant_id: grant?.id, reason: "enough" } });
  });

  it("can come from an edit, and then answers calls like the edited one", async () => {
    await using h = await runtimeFixture();
    const id = await ask(h, "wrong");
    const scope = { arguments: { "$.to": { equals: "right" } } };
    const edit = { decision: "modified" as const, by: ann, arguments: { to: "right" } };
    const decided = await h.runtime.approvals.decide(id, { ...edit, remember: { ...forRun, scope } });
    expect(decided).toMatchObject({ decided: true, grant: { arguments: scope.arguments } });
    expect(await statusOf(h, "right")).toBe("ok");
  });
});

describe("a grant is kept", () => {
  const tool = (description: string) =>
    defineTool({
      name: "mail",
      description,
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      execute: () => "sent",
    });
  const open = (name: string, clock: FakeClock, description: string): Promise<Runtime> => {
    const options: RuntimeOptions = { ...storeIn(files.at(name)), clock, tools: [tool(description)] };
    return createRuntime({ ...options, approvals: { patience: "suspend" } });
  };
  const until = (clock: FakeClock): Remember => ({ for: { until: clock.now() + 3_600_000 }, reason: "for an hour" });

  it("with its uses over a restart, and is void as soon as the tool's definition changes", async () => {
    const clock = new FakeClock();
    const first = await open("kept.db", clock, "Sends a mail.");
    const { approvalId = "" } = await first.invoke(mail("x"), asker);
    await first.approvals.decide(approvalId, { decision: "approved", by: ann, remember: until(clock) });
    expect((await first.invoke(mail("y"), asker)).status).toBe("ok");
    await first.close();
    const second = await open("kept.db", clock, "Sends a mail.");
    expect((await second.invoke(mail("z"), asker)).status).toBe("ok");
    expect(second.approvals.grants.list({ state: "live" })).toMatchObject([{ uses: 2 }]);
    await second.close();
    await using changed = await open("kept.db", clock, "Sends a mail, and a copy to me.");
    expect((await changed.invoke(mail("q"), asker)).status).toBe("pending");
    expect(changed.approvals.grants.list({ state: "void" })).toHaveLength(1);
  });
});

it("without costing an ALLOW call a lookup or an await", async () => {
  await using h = await runtimeFixture();
  await remember(h, await ask(h));
  let looked = 0;
  const grants = h.runtime.approvals.grants;
  const answerFor = (grants as unknown as { answerFor: (...given: unknown[]) => unknown }).answerFor;
  const watched = (...given: unknown[]): unknown => {
    looked += 1;
    return answerFor.apply(grants, given);
  };
  Object.assign(grants, { answerFor: watched });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, asker);
  expect(looked).toBe(0);
  expect(await statusOf(h, "y")).toBe("ok");
  expect(looked).toBe(1);
});
